/**
 * Client certificates instead of a secret (RFC 8705 §2): `tls_client_auth` and `self_signed_tls_client_auth`.
 */
import { writeFile } from 'node:fs/promises'
import type { Agent } from 'node:https'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import * as client from 'openid-client'
import { SERVICE_AUDIENCE_SCOPE } from '../../src/domain/identities/token-grant.ts'
import { authorityOf, type CertificateOptions, certificateOf, type TestCertificate } from '../support/certificates.ts'
import { eventually } from '../support/eventually.ts'
import { type Keyturn, removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { fetchWith, TLS_SETTINGS } from '../support/mtls-client.ts'
import { type OAuthInstance, type Robot, refusal, seen, startOAuthInstance } from '../support/oauth-instance.ts'

const SPIFFE_ID = 'spiffe://example.org/ns/shop/sa/checkout'
const SUBJECT = 'CN=checkout+OU=Payments,O=Shop\\, Inc.,C=DE'
const SUBJECT_IN_DER: CertificateOptions['subject'] = [
  ['C', 'DE', 0x13],
  ['O', 'Shop, Inc.'],
  [
    ['OU', 'Payments'],
    ['CN', 'checkout'],
  ],
]

let folder: string
let instance: OAuthInstance
let server: Keyturn
let replica: Keyturn
let authority: TestCertificate

beforeAll(async () => {
  folder = await temporaryFolder()
  authority = authorityOf('the authority')
  await trust(authority)
  instance = await startOAuthInstance({
    ...TLS_SETTINGS,
    KEYTURN_MTLS: 'tls',
    KEYTURN_MTLS_CA_FILE: join(folder, 'ca.pem'),
  })
  server = instance.keyturn
  replica = await instance.startReplica()
})

afterAll(async () => {
  await instance?.stop()
  await removeFolder(folder)
})

const trust = (...authorities: TestCertificate[]) =>
  writeFile(join(folder, 'ca.pem'), authorities.map(({ pem }) => pem).join(''))

const certified = (options: CertificateOptions = {}) => certificateOf({ issuer: authority, ...options })

/** Calls the API as the first administrator. */
async function call<T>(method: string, request: object): Promise<T> {
  const { client_id, client_secret } = await server.admin()
  const form = { grant_type: 'client_credentials', client_id, client_secret, scope: SERVICE_AUDIENCE_SCOPE }
  const { access_token } = (await (await post(form)).json()) as { access_token: string }
  const response = await fetchWith()(`${server.listenUrl}/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${access_token}` },
    body: JSON.stringify(request),
  })
  expect(response.status).toBe(200)
  return (await response.json()) as T
}

async function add(robot: Robot, match: object, more: object = {}): Promise<string> {
  const request = { userId: robot.userId, match, ...more }
  const { certificate } = await call<{ certificate: { certificateId: string } }>(
    'iam.user.v2.ClientCertificateService/AddClientCertificate',
    request,
  )
  return certificate.certificateId
}

async function robotWith(match: object): Promise<Robot> {
  const robot = await instance.addRobot()
  await add(robot, match)
  return robot
}

interface PostOptions {
  readonly others?: readonly TestCertificate[]
  readonly at?: Keyturn
  readonly path?: string
  readonly agent?: Agent
}

const post = (
  form: Record<string, string>,
  by?: TestCertificate,
  { at = server, path = 'token', ...connection }: PostOptions = {},
) => fetchWith(by, connection)(`${at.listenUrl}/oauth/v2/${path}`, { method: 'POST', body: new URLSearchParams(form) })

const request = ({ clientId }: Pick<Robot, 'clientId'>) => ({ grant_type: 'client_credentials', client_id: clientId })

const DENIED = refusal(401, 'invalid_client')

async function expectGranted(robot: Robot, by: TestCertificate, options: PostOptions = {}) {
  const answer = await post(request(robot), by, options)
  expect(answer.status).toBe(200)
  const { access_token } = (await answer.json()) as { access_token: string }
  expect(decodeJwt(access_token)).toMatchObject({ sub: robot.userId, client_id: robot.clientId })
  return access_token
}

const expectDenied = async (robot: Pick<Robot, 'clientId'>, by?: TestCertificate, options: PostOptions = {}) =>
  expect(await seen(await post(request(robot), by, options))).toEqual(DENIED)

describe('a certificate of a trusted authority [RFC 8705 §2.1]', () => {
  it.each<[string, object, CertificateOptions]>([
    ['its subject', { subjectDn: SUBJECT }, { subject: SUBJECT_IN_DER }],
    ['its DNS name', { sanDns: 'Checkout.Shop.Example' }, { dns: ['other.example', 'checkout.shop.example'] }],
    ['its SPIFFE ID', { sanUri: SPIFFE_ID }, { uris: [SPIFFE_ID] }],
  ])('proves a user by %s', async (_, match, options) => {
    await expectGranted(await robotWith(match), certified(options))
  })

  it('follows the file of authorities, which replaces the old ones only if it is good', async () => {
    const robot = await robotWith({ sanUri: SPIFFE_ID })
    const next = authorityOf('the next authority')
    const [old, renewed] = [certified({ uris: [SPIFFE_ID] }), certificateOf({ issuer: next, uris: [SPIFFE_ID] })]
    await writeFile(join(folder, 'ca.pem'), certified().pem)
    await eventually(() => expect(server.output().stderr).toContain('were not reloaded'))
    await expectGranted(robot, old)
    await trust(authority, next)
    await eventually(() => expectGranted(robot, renewed))
    await expectGranted(robot, old)
    await trust(next)
    await eventually(() => expectDenied(robot, old))
    await expectGranted(robot, renewed)
    await trust(authority)
    await eventually(() => expectGranted(robot, old))
  })
})

describe('a certificate that is registered itself [RFC 8705 §2.2]', () => {
  let robot: Robot
  let own: TestCertificate
  beforeAll(async () => {
    own = certificateOf()
    robot = await robotWith({ thumbprint: own.thumbprint })
  })

  it('proves its user, and needs no authority', async () => {
    await expectGranted(robot, own)
  })

  it.each<[string, () => TestCertificate]>([['with the same key', () => certificateOf({ key: own.key })]])(
    'is not another one %s',
    async (_, make) => {
      await expectDenied(robot, make())
    },
  )

  it('is refused outside of its validity', async () => {
    const expired = certificateOf({ notBefore: new Date(0), notAfter: new Date(Date.now() - 60_000) })
    await expectDenied(await robotWith({ thumbprint: expired.thumbprint }), expired)
  })

  it('is refused once its registration has expired or was removed, on all replicas', async () => {
    const [ending, removed] = [await instance.addRobot(), await instance.addRobot()]
    // Refused if adding it takes longer than it is valid.
    await eventually(() => {
      const expirationDate = new Date(Date.now() + 2000)
      return add(ending, { thumbprint: own.thumbprint }, { expirationDate: expirationDate.toISOString() })
    })
    const certificateId = await add(removed, { thumbprint: own.thumbprint })
    for (const at of [server, replica]) {
      await eventually(() => expectGranted(removed, own, { at }))
    }
    await call('iam.user.v2.ClientCertificateService/RemoveClientCertificate', {
      userId: removed.userId,
      certificateId,
    })
    await expectDenied(removed, own)
    await eventually(() => expectDenied(removed, own, { at: replica }))
    for (const at of [server, replica]) await eventually(() => expectDenied(ending, own, { at }))
  })
})

describe('a token request without a secret', () => {
  it('is refused with the certificate of another user, of an unknown and of a disabled user, and without one', async () => {
    const [one, other] = [certificateOf(), certificateOf()]
    const robot = await robotWith({ thumbprint: one.thumbprint })
    await robotWith({ thumbprint: other.thumbprint })
    await expectDenied(robot, other)
    await expectDenied(robot)
    await expectDenied(await instance.addRobot(), one)
    await expectDenied({ clientId: `0b6e2f5c-9a3d-4a57-8f65-000000000000@${robot.project.name}` }, one)
    await call('iam.user.v2.ServiceUserService/DisableServiceUser', { userId: robot.userId })
    await expectDenied(robot, one)
  })

  it('is refused without a client_id, which is required, and with another project in it [RFC 8705 §2]', async () => {
    const own = certificateOf()
    const robot = await robotWith({ thumbprint: own.thumbprint })
    expect(await seen(await post({ grant_type: 'client_credentials' }, own))).toEqual(refusal(401, 'invalid_client'))
    const elsewhere = { ...request(robot), client_id: `${robot.userId}@keyturn` }
    expect(await seen(await post(elsewhere, own))).toEqual(refusal(400, 'unauthorized_client'))
  })

  it('that was refused is an audit event, counts for the rate limit, and is explained in the log alone', async () => {
    const robot = await robotWith({ sanUri: SPIFFE_ID })
    await expectDenied(robot, certificateOf({ uris: [SPIFFE_ID] }))
    await eventually(async () => {
      const { events } = await call<{ events: object[] }>('iam.audit.v2.AuditService/ListAuditEvents', {
        resource: `users/${robot.userId}`,
      })
      expect(events).toContainEqual(expect.objectContaining({ action: 'oauth/token', outcome: 'INVALID_CLIENT' }))
    })
    expect(server.output().stderr).toContain('the client certificate: no trusted authority has issued it')
  })

  it('may introspect and revoke tokens too [RFC 7662 §2.1, RFC 7009 §2.1]', async () => {
    const own = certificateOf()
    const robot = await robotWith({ thumbprint: own.thumbprint })
    const token = await expectGranted(robot, own)
    const form = { client_id: robot.clientId, token }
    expect(await (await post(form, own, { path: 'introspect' })).json()).toMatchObject({ active: true })
    expect(await seen(await post(form, certificateOf(), { path: 'introspect' }))).toEqual(DENIED)
    expect((await post(form, own, { path: 'revoke' })).status).toBe(200)
    expect(await (await post(form, own, { path: 'introspect' })).json()).toEqual({ active: false })
  })
})

describe('clients that are not ours', () => {
  let robot: Robot
  let own: TestCertificate
  beforeAll(async () => {
    own = certified({ uris: [SPIFFE_ID] })
    robot = await instance.addRobot({ certificateBoundTokens: true })
    await add(robot, { sanUri: SPIFFE_ID })
  })

  it('get tokens with openid-client and TlsClientAuth', async () => {
    const config = await client.discovery(new URL(server.baseUrl), robot.clientId, undefined, client.TlsClientAuth(), {
      [client.customFetch]: fetchWith(own) as client.CustomFetch,
    })
    const { access_token } = await client.clientCredentialsGrant(config)
    expect(decodeJwt(access_token).cnf).toEqual({ 'x5t#S256': own.thumbprint })
  })
})
