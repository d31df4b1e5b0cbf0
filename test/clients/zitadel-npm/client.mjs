/**
 * Rotates web keys with ZITADEL's client: gRPC for v2, as its servers do, and gRPC-Web for v2beta, as its pages do. The test knows what
 * it prints.
 */
import { codeToString } from '@connectrpc/connect/protocol-connect'
import { create, createClientFor } from '@zitadel/client'
import { createServerTransport } from '@zitadel/client/node'
import { createClientTransport } from '@zitadel/client/web'
import * as keysOfV2 from '@zitadel/proto/zitadel/webkey/v2/key_pb.js'
import * as v2 from '@zitadel/proto/zitadel/webkey/v2/webkey_service_pb.js'
import * as keysOfV2beta from '@zitadel/proto/zitadel/webkey/v2beta/key_pb.js'
import * as v2beta from '@zitadel/proto/zitadel/webkey/v2beta/webkey_service_pb.js'

const {
  ZITADEL_URL: baseUrl,
  ZITADEL_CLIENT_ID,
  ZITADEL_CLIENT_SECRET,
  ZITADEL_TOKEN,
  ZITADEL_VIEWER_TOKEN,
} = process.env

const print = (line) => process.stdout.write(`${line}\n`)

/** The package has no sign-in with a secret: its users ask for the token themselves. */
async function signIn() {
  const response = await fetch(`${baseUrl}/oauth/v2/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${encodeURIComponent(ZITADEL_CLIENT_ID)}:${ZITADEL_CLIENT_SECRET}`)}` },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      scope: 'openid urn:zitadel:iam:org:project:id:zitadel:aud',
    }),
  })
  return (await response.json()).access_token
}

/** The code and the reason of the error that a call ends with. */
async function refusalOf(call) {
  const error = await call.then(
    () => {
      throw new Error('the call was not refused')
    },
    (reason) => reason,
  )
  // `google.rpc.ErrorInfo`, of which the first field is the reason.
  const info = error.details.find(({ type }) => type === 'google.rpc.ErrorInfo')
  const reason = info.value.subarray(2, 2 + info.value[1])
  return `${codeToString(error.code)} ${new TextDecoder().decode(reason)}`
}

async function live(keys, others, { ECDSACurve, ECDSASchema, RSABits, RSAHasher, State }) {
  const remove = async (id) => (await keys.deleteWebKey({ id })).deletionDate !== undefined
  const listed = async () => new Map((await keys.listWebKeys({})).webKeys.map((key) => [key.id, key]))

  const { id: plain } = await keys.createWebKey({})
  const { value: rsa } = (await listed()).get(plain).key
  print(`nothing asked for: ${RSABits[rsa.bits]} ${RSAHasher[rsa.hasher]}`)
  print(`deleted while initial: ${await remove(plain)}, again: ${await remove(plain)}`)

  const [old] = [...(await listed()).values()].filter(({ state }) => state === State.ACTIVE)
  const curve = create(ECDSASchema, { curve: ECDSACurve.ECDSA_CURVE_P256 })
  const { id } = await keys.createWebKey({ key: { case: 'ecdsa', value: curve } })
  const key = (await listed()).get(id)
  print(`created STATE_${State[key.state]} ${ECDSACurve[key.key.value.curve]}`)

  const { changeDate } = await keys.activateWebKey({ id })
  const now = await listed()
  if (now.get(id).changeDate.seconds !== changeDate.seconds) throw new Error('the dates differ')
  print(`activated STATE_${State[now.get(old.id).state]} STATE_${State[now.get(id).state]}`)

  print(`delete the active key: ${await refusalOf(remove(id))}`)
  print(`activate an unknown key: ${await refusalOf(keys.activateWebKey({ id: 'unknown' }))}`)
  print(`activate no key: ${await refusalOf(keys.activateWebKey({}))}`)
  print(`create without the permission: ${await refusalOf(others.createWebKey({}))}`)

  await keys.activateWebKey({ id: old.id })
  print(`rolled back and deleted: ${await remove(id)}`)
}

const clientOfV2 = createClientFor(v2.WebKeyService)
print('v2')
await live(
  clientOfV2(createServerTransport(await signIn(), { baseUrl })),
  clientOfV2(createServerTransport(ZITADEL_VIEWER_TOKEN, { baseUrl })),
  keysOfV2,
)

const clientOfV2beta = createClientFor(v2beta.WebKeyService)
print('v2beta')
await live(
  clientOfV2beta(createClientTransport(ZITADEL_TOKEN, { baseUrl })),
  clientOfV2beta(createClientTransport(ZITADEL_VIEWER_TOKEN, { baseUrl })),
  keysOfV2beta,
)

const stranger = clientOfV2(createServerTransport('wrong', { baseUrl }))
print(`a wrong token: ${await refusalOf(stranger.listWebKeys({}))}`)
