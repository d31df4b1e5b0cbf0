/**
 * Certificates of clients that a proxy passes on in a header: `Client-Cert` (RFC 9440) and `x-forwarded-client-cert` (Envoy). The test is
 * the proxy.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { SERVICE_AUDIENCE_SCOPE } from '../../src/domain/identities/token-grant.ts'
import { authorityOf, certificateOf, type TestCertificate } from '../support/certificates.ts'
import { eventually } from '../support/eventually.ts'
import { type Keyturn, removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { formOf, type OAuthInstance, type Robot, refusal, seen, startOAuthInstance } from '../support/oauth-instance.ts'

const LIST = 'iam.webkey.v2.WebKeyService/ListWebKeys'
const PROXIES = { KEYTURN_TRUSTED_PROXIES: '127.0.0.0/8,::1' }
const UNREADABLE = refusal(400, 'invalid_request')
const SPIFFE_ID = 'spiffe://example.org/checkout'

let folder: string
let instance: OAuthInstance
let clientCert: Keyturn
let xfcc: Keyturn
/** Believes the header of proxies elsewhere. */
let distrusting: Keyturn
let robot: Robot
let own: TestCertificate
let other: TestCertificate
let authority: TestCertificate
let intermediate: TestCertificate
let svid: TestCertificate

beforeAll(async () => {
  folder = await temporaryFolder()
  authority = authorityOf('authority')
  intermediate = authorityOf('intermediate', { issuer: authority })
  svid = certificateOf({ issuer: intermediate, uris: [SPIFFE_ID] })
  const caFile = join(folder, 'ca.pem')
  await writeFile(caFile, authority.pem)
  instance = await startOAuthInstance({ ...PROXIES, KEYTURN_MTLS: 'client-cert', KEYTURN_MTLS_CA_FILE: caFile })
  clientCert = instance.keyturn
  xfcc = await instance.startReplica({ KEYTURN_MTLS: 'x-forwarded-client-cert' })
  distrusting = await instance.startReplica({ KEYTURN_TRUSTED_PROXIES: '192.0.2.0/24' })
  ;[own, other] = [certificateOf(), certificateOf()]
  robot = await instance.addRobot({ certificateBoundTokens: true, instanceRoles: ['IAM_OWNER_VIEWER'] })
  await instance.call('iam.user.v2.ClientCertificateService/AddClientCertificate', {
    userId: robot.userId,
    match: { sanUri: SPIFFE_ID },
  })
  for (const at of [xfcc, distrusting]) await eventually(async () => expect((await asked(at, {})).status).toBe(200))
})

afterAll(async () => {
  await instance?.stop()
  await removeFolder(folder)
})

const bytes = (...certificates: TestCertificate[]) =>
  certificates.map(({ der }) => `:${der.toString('base64')}:`).join(', ')
const escaped = (...certificates: TestCertificate[]) => encodeURIComponent(certificates.map(({ pem }) => pem).join(''))
const CLIENT_CERT = (certificate: TestCertificate): Record<string, string> => ({ 'client-cert': bytes(certificate) })
const XFCC = (certificate: TestCertificate): Record<string, string> => ({
  'x-forwarded-client-cert': `Cert="${escaped(certificate)}"`,
})

const asked = (at: Keyturn, headers: Record<string, string>, form: Record<string, string> = formOf(robot)) =>
  instance.postForm({ ...form, scope: SERVICE_AUDIENCE_SCOPE }, headers, at)

async function tokenOf(response: Response): Promise<string> {
  expect(response.status).toBe(200)
  return ((await response.json()) as { access_token: string }).access_token
}

/** The thumbprint that a token is bound to. */
async function boundTo(response: Response): Promise<string | undefined> {
  const { cnf } = decodeJwt(await tokenOf(response)) as { cnf?: Record<string, string> }
  return cnf?.['x5t#S256']
}

const called = (at: Keyturn, token: string, headers: Record<string, string>) =>
  fetch(`${at.listenUrl}/${LIST}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
    body: '{}',
  })

describe('the header of a trusted proxy', () => {
  it.each<[string, () => Keyturn, typeof CLIENT_CERT]>([
    ['Client-Cert [RFC 9440 §2.2]', () => clientCert, CLIENT_CERT],
    ['x-forwarded-client-cert', () => xfcc, XFCC],
  ])('%s binds tokens, and is required with them [RFC 8705 §3]', async (_, at, headersFor) => {
    const response = await asked(at(), headersFor(own))
    const token = await tokenOf(response)
    expect(decodeJwt(token).cnf).toEqual({ 'x5t#S256': own.thumbprint })
    expect((await called(at(), token, headersFor(own))).status).toBe(200)
    for (const headers of [{}, headersFor(other)]) expect((await called(at(), token, headers)).status).toBe(401)
  })

  it('proves users over its chain [RFC 9440 §2.3, RFC 8705 §2.1]', async () => {
    const form = { grant_type: 'client_credentials', client_id: robot.clientId }
    const chain = { 'client-cert-chain': bytes(intermediate, authority) }
    expect(await boundTo(await asked(clientCert, { ...CLIENT_CERT(svid), ...chain }, form))).toBe(svid.thumbprint)
    const xfccChain = `By=spiffe://example.org/proxy;Cert="${escaped(svid)}";Chain="${escaped(svid, intermediate)}"`
    const headers = { 'x-forwarded-client-cert': xfccChain }
    expect(await boundTo(await asked(xfcc, headers, form))).toBe(svid.thumbprint)
    expect(await seen(await asked(clientCert, CLIENT_CERT(svid), form))).toEqual(refusal(401, 'invalid_client'))
    const forged = { ...CLIENT_CERT(own), ...chain }
    expect(await seen(await asked(clientCert, forged, form))).toEqual(refusal(401, 'invalid_client'))
  })

  it('is not believed from any other peer', async () => {
    expect(await boundTo(await asked(distrusting, CLIENT_CERT(own)))).toBeUndefined()
    const token = await tokenOf(await asked(clientCert, CLIENT_CERT(own)))
    expect((await called(distrusting, token, CLIENT_CERT(own))).status).toBe(401)
  })

  it('is not believed if it is the other one, which the proxy may pass on from the client', async () => {
    expect(await boundTo(await asked(clientCert, XFCC(other)))).toBeUndefined()
    expect(await boundTo(await asked(xfcc, CLIENT_CERT(other)))).toBeUndefined()
    expect(await boundTo(await asked(clientCert, { ...XFCC(other), ...CLIENT_CERT(own) }))).toBe(own.thumbprint)
    expect(await boundTo(await asked(xfcc, { ...XFCC(own), ...CLIENT_CERT(other) }))).toBe(own.thumbprint)
  })

  it('changes nothing for users whose tokens are not bound to certificates, also if it cannot be read', async () => {
    const unbound = await instance.addRobot()
    for (const value of [bytes(own), 'nonsense']) {
      expect(await boundTo(await instance.postForm(formOf(unbound), { 'client-cert': value }))).toBeUndefined()
    }
  })
})

describe('a header that cannot be read is not taken for no certificate', () => {
  it.each<[string, () => string]>([
    ['nonsense', () => 'certificate'],
    ['two certificates', () => bytes(own, other)],
    ['half of a certificate', () => `:${own.der.subarray(0, 100).toString('base64')}:`],
    ['what Envoy sends', () => `Cert="${escaped(own)}"`],
  ])('Client-Cert with %s', async (_, value) => {
    expect(await seen(await asked(clientCert, { 'client-cert': value() }))).toEqual(UNREADABLE)
    const token = await tokenOf(await asked(clientCert, CLIENT_CERT(own)))
    expect((await called(clientCert, token, { 'client-cert': value() })).status).toBe(401)
  })

  it.each<[string, () => string]>([
    ['nonsense', () => 'certificate'],
    ['an empty Cert', () => 'Cert=""'],
    ['two of them', () => `Cert="${escaped(own)}";Cert="${escaped(other)}"`],
    ['an element of the client in front', () => `Cert="${escaped(other)}",Cert="${escaped(own)}"`],
    ['an escape at its end', () => `Cert="${escaped(own)}\\`],
  ])('x-forwarded-client-cert with %s', async (_, value) => {
    expect(await seen(await asked(xfcc, { 'x-forwarded-client-cert': value() }))).toEqual(UNREADABLE)
    const token = await tokenOf(await asked(xfcc, XFCC(own)))
    expect((await called(xfcc, token, { 'x-forwarded-client-cert': value() })).status).toBe(401)
  })

  it('of a request that authenticates by certificate is a failed authentication', async () => {
    const form = { grant_type: 'client_credentials', client_id: robot.clientId }
    expect(await seen(await asked(clientCert, { 'client-cert': 'x' }, form))).toEqual(refusal(401, 'invalid_client'))
  })
})
