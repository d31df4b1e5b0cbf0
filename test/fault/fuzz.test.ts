import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { fromBinary } from '@bufbuild/protobuf'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'
import { AuditService } from '../../gen/iam/audit/v2/audit_service_pb.js'
import { ConsoleService } from '../../gen/iam/console/v2/console_service_pb.js'
import { WebhookService } from '../../gen/iam/event/v2/webhook_service_pb.js'
import { FederatedIdentityService } from '../../gen/iam/federation/v2/federated_identity_service_pb.js'
import { TrustedIssuerService } from '../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { InstanceService } from '../../gen/iam/instance/v2/instance_service_pb.js'
import { ProjectService } from '../../gen/iam/project/v2/project_service_pb.js'
import { ClientCertificateService } from '../../gen/iam/user/v2/client_certificate_service_pb.js'
import { ServiceUserService } from '../../gen/iam/user/v2/service_user_service_pb.js'
import { WebKeyService } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { WebKeyService as BetaWebKeyService } from '../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { heldMebibytes, INSPECTABLE } from '../support/held-memory.ts'
import { type KeyturnProcess, removeFolder, requestToken, startKeyturn } from '../support/keyturn.ts'
import { createAuthority } from '../support/server-certificates.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { rightProof } from './fuzz-proofs.ts'
import { type FuzzRequest, fuzzRequest } from './fuzz-requests.ts'
import { type RawAnswer, RawHttp1 } from './raw-http1.ts'

/** `FUZZ_REQUESTS=20000` finds a leak of a quarter of the size, and what one request in thousands does. */
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 5_000)
const SEED = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31))
const CONNECTIONS = 16
/** How many requests are made at a time. */
const BATCH = 1_000
/** Fewer than there may be, so that requests create some too. */
const WEBHOOKS = 15
/** Different ones that are reported. */
const MAX_FAILURES = 20
/** Memory is looked at after each so many requests; the first time is the measure for the last. */
const LOOK_EVERY = REQUESTS / 5
/** What the caches and what the requests have created may take, in mebibytes: a kilobyte of each of 5000 requests is too much. */
const MAX_GROWTH_MEBIBYTES = 4
/** Many times what it takes: single requests have a limit of their own. */
jest.setTimeout(900_000)

/** `internal`, `unknown` and `data_loss` say that the server is at fault. */
const FAULTS = ['internal', 'unknown', 'data_loss']
const GRPC_FAULTS = ['2', '13', '15']

/** A URL that an accident has happened to may name any host. */
const LOOPBACK_ONLY = `--import=${new URL('./loopback-only.ts', import.meta.url).href}`

let server: KeyturnProcess | undefined
let receiver: WebhookReceiver | undefined
afterEach(async () => {
  await receiver?.stop()
  await server?.kill()
  if (server !== undefined) await removeFolder(server.dataDir)
  server = undefined
})

describe('a server that is sent anything', () => {
  it.each(['https://192.0.2.1/', 'https://host.invalid/'])('cannot connect to %s', async (url) => {
    const program = `require('node:https').get('${url}').on('error', ({ code }) => console.log(code))`
    const { stdout } = await promisify(execFile)(process.execPath, [LOOPBACK_ONLY, '-e', program])
    expect(stdout).toBe('ENETUNREACH\n')
  })

  it(`answers every request in a documented way, does not break and does not grow (FUZZ_SEED=${SEED})`, async () => {
    // The fuzzer is its proxy.
    const proxied = { KEYTURN_MTLS: 'client-cert', KEYTURN_TRUSTED_PROXIES: '127.0.0.0/8' }
    const outbound = {
      KEYTURN_OUTBOUND_NETWORKS: '127.0.0.0/8',
      NODE_OPTIONS: `${INSPECTABLE.NODE_OPTIONS} ${LOOPBACK_ONLY}`,
    }
    server = await startKeyturn({ env: { ...proxied, ...outbound } })
    const admin = await server.admin()
    const token = await requestToken(admin)
    const masterKey = (await readFile(`${server.dataDir}/master.key`, 'utf8')).trim()
    const call = async <T>(path: string, body: object): Promise<T> => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const response = await fetch(`${admin.base_url}/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      if (!response.ok) throw new Error(await response.text())
      return (await response.json()) as T
    }
    const { project } = await call<{ project: { projectId: string } }>('iam.project.v2.ProjectService/CreateProject', {
      name: 'fuzz',
    })
    const { serviceUser } = await call<{ serviceUser: { userId: string } }>(
      'iam.user.v2.ServiceUserService/CreateServiceUser',
      { projectId: project.projectId, name: 'fuzz' },
    )
    const authority = createAuthority()
    receiver = await startReceiver(authority)
    const { url } = receiver
    const webhookIds: string[] = []
    // Some requests delete one.
    for (let i = 0; i < WEBHOOKS; i += 1) {
      const settings = { name: `hook-${i}`, url, caCertificates: authority.cert, eventTypes: ['keyturn.iam.project.*'] }
      const { webhook } = await call<{ webhook: { webhookId: string } }>(
        'iam.event.v2.WebhookService/CreateWebhook',
        settings,
      )
      webhookIds.push(webhook.webhookId)
    }
    const known = {
      project_id: [project.projectId],
      user_id: [serviceUser.userId],
      name: ['fuzz', 'other'],
      role: ['reader', 'writer'],
      scope: ['read', 'openid'],
      page_token: [''],
      issuer: ['https://cluster.example', 'spiffe://shop.example'],
      pointer: ['/repository', '/a~1b'],
      jwks: ['{}', '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}'],
      jwks_url: ['https://127.0.0.1:1/jwks'],
      spiffe_bundle_url: ['https://127.0.0.1:1/bundle'],
      ca_certificates: ['', authority.cert],
      webhook_id: webhookIds,
      url: [url, 'https://127.0.0.1:1/events'],
      event_types: ['keyturn.*', 'keyturn.iam.project.*', 'keyturn.oauth.token'],
      resources: ['projects', 'users', `users/${serviceUser.userId}`],
      key_id: ['x'.repeat(43)],
      public_jwk: [
        '{}',
        '{"kty":"EC"}',
        '{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}',
      ],
    }
    const services = [
      WebKeyService,
      BetaWebKeyService,
      ProjectService,
      ServiceUserService,
      TrustedIssuerService,
      FederatedIdentityService,
      ClientCertificateService,
      AuditService,
      InstanceService,
      ConsoleService,
      WebhookService,
    ]
    const proof = rightProof(`${admin.base_url}/oauth/v2/token`)
    const boundToken = await requestToken(admin, undefined, { dpop: proof })
    const requests = fuzzRequest({
      services,
      known,
      token,
      boundToken,
      clientId: admin.client_id,
      clientSecret: admin.client_secret,
      baseUrl: admin.base_url,
    })
    const secrets = [admin.client_secret, masterKey.split(':')[1] ?? masterKey, token]

    const statuses = new Map<string, number>()
    const failures = new Map<string, string>()
    let sent = 0
    const sendOne = async (client: RawHttp1, request: FuzzRequest) => {
      try {
        const answer = await client.send(request.bytes, request)
        const outcome = `${request.kind} ${answer?.status ?? 'closed'}`
        statuses.set(outcome, (statuses.get(outcome) ?? 0) + 1)
        if (answer !== null) assertDocumented(request, answer, secrets)
      } catch (error) {
        const { message } = error as Error
        const place = `${request.kind}: ${message.slice(0, 30)} ${message.slice(-40)}`
        if (failures.size < MAX_FAILURES && !failures.has(place)) {
          failures.set(
            place,
            `${message}\n--- the request:\n${request.bytes.toString('latin1').replaceAll(token, '<token>').slice(0, 1_500)}`,
          )
        }
        client.close()
      }
      sent += 1
    }

    let lastAddress = 0
    // Failed authentications are limited by address, and there must be something else than refusals for that.
    const nextAddress = () => `127.0.${1 + ((lastAddress >> 8) & 63)}.${1 + (lastAddress++ % 250)}`
    const port = Number(new URL(server.listenUrl).port)
    const startedAt = performance.now()
    let made = 0
    let queue: FuzzRequest[] = []
    const next = (upTo: number) => {
      if (queue.length === 0 && made < upTo) {
        queue = fc.sample(requests, { seed: SEED + made, numRuns: BATCH })
        made += BATCH
      }
      return queue.pop()
    }
    const held: number[] = []
    while (sent < REQUESTS) {
      const upTo = made + LOOK_EVERY
      const work = async () => {
        const client = new RawHttp1(port, nextAddress)
        try {
          for (let request = next(upTo); request !== undefined; request = next(upTo)) await sendOne(client, request)
        } finally {
          client.close()
        }
      }
      await Promise.all(Array.from({ length: CONNECTIONS }, work))
      held.push(await heldMebibytes(server))
    }
    const seconds = (performance.now() - startedAt) / 1_000
    const figures = {
      sent,
      perSecond: Math.round(sent / seconds),
      heldMebibytes: held.map((mebibytes) => Number(mebibytes.toFixed(1))),
      statuses: Object.fromEntries([...statuses].sort()),
    }
    process.stderr.write(`${JSON.stringify(figures)}\n`)

    expect([...failures.values()]).toEqual([])
    expect(await requestToken(admin)).not.toBe('')
    expect(server.process.exitCode).toBeNull()
    const { stderr } = server.output()
    expect(stderr.split('\n').filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([])
    expect([...secrets, 'whsec_'].filter((secret) => stderr.includes(secret))).toEqual([])
    expect(receiver.accepted).not.toEqual([])
    expect((held.at(-1) ?? 0) - (held[0] ?? 0)).toBeLessThan(MAX_GROWTH_MEBIBYTES)
    // Otherwise the requests would all be refused at the first door.
    for (const kind of [
      'token 200',
      'token 401',
      'rpc 200',
      'bound 200',
      'bound 401',
      'get 200',
      'gzip 200',
      'gzip 400',
      'gzip 429',
    ])
      expect(statuses.get(kind) ?? 0).toBeGreaterThan(REQUESTS / 1_000)
  })
})

function assertDocumented(
  request: FuzzRequest,
  { status, headers, body }: RawAnswer,
  secrets: readonly string[],
): void {
  const text = body.toString('latin1')
  const fail = (reason: string) => {
    throw new Error(`${reason}: ${status} ${JSON.stringify([...headers])} ${text.slice(0, 500)}`)
  }
  if (secrets.some((secret) => text.includes(secret))) fail('a secret was answered')
  if (status >= 500 && status !== 503 && !isAskedFor(request, status, text)) fail('the server is at fault')
  if (GRPC_FAULTS.includes(headers.get('grpc-status') ?? '')) fail('the server is at fault')
  const type = headers.get('content-type')?.split(';')[0]
  if (body.length === 0) {
    const isUnparsed = [400, 408, 413, 431].includes(status) && headers.get('connection') === 'close'
    const isOfNode = isUnparsed || status === 417
    if (status >= 400 && !request.isHead && !isOfNode) fail('a refusal that says nothing')
    return
  }
  if (type === 'application/json') {
    const json = JSON.parse(body.toString('utf8')) as Record<string, unknown>
    if (typeof json !== 'object' || json === null) fail('not an object')
    if (status < 400) return
    if (typeof json.error === 'string' && typeof json.error_description === 'string') return
    if (typeof json.code !== 'string' || FAULTS.includes(json.code)) fail('not a documented error')
  } else if (type === 'application/proto') {
    if (request.method === undefined) fail('a message for no method')
    else fromBinary(request.method.output, body)
  } else if (type?.startsWith('application/grpc')) {
    assertEnvelopes(body, fail)
  } else {
    fail('a body of an undocumented type')
  }
}

/** What the protocols answer to a coding that a server does not know, and when the client's own time is over. */
function isAskedFor({ bytes }: FuzzRequest, status: number, text: string): boolean {
  const { code, message } = JSON.parse(text) as { code?: string; message?: string }
  const request = bytes.toString('latin1')
  if (status === 501 && /transfer-encoding: x\r\n/.test(request)) return true
  if (status === 501) return code === 'unimplemented' && /compression/.test(message ?? '')
  return status === 504 && code === 'deadline_exceeded' && /connect-timeout-ms: 1\r\n/.test(request)
}

function assertEnvelopes(body: Buffer, fail: (reason: string) => void): void {
  for (let at = 0; at < body.length; ) {
    const [flags, length] = [body.readUInt8(at), body.readUInt32BE(at + 1)]
    const payload = body.subarray(at + 5, at + 5 + length)
    if (payload.length < length) fail('an envelope that is cut off')
    const trailers = flags === 0x80 ? payload.toString('latin1') : ''
    if (GRPC_FAULTS.includes(/grpc-status: ?(\d+)/.exec(trailers)?.[1] ?? '')) fail('the server is at fault')
    at += 5 + length
  }
}
