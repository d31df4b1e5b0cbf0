/**
 * Tokens that are bound to client certificates (RFC 8705) with `@keyturn/client` and `@keyturn/verify`.
 */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { API_SCOPE, createApi, createAuthorizedFetch, createTokenSource } from '../../packages/client/src/index.ts'
import {
  createVerifier,
  expressMiddleware,
  type Verifier,
  type VerifierOptions,
} from '../../packages/verify/src/index.ts'
import { certificateOf, type TestCertificate } from '../support/certificates.ts'
import { fetchWith, TLS_SETTINGS } from '../support/mtls-client.ts'
import { type OAuthInstance, type Robot, startOAuthInstance } from '../support/oauth-instance.ts'

let instance: OAuthInstance
let robot: Robot
let certificate: TestCertificate
let other: TestCertificate
let token: string
const services: Server[] = []

beforeAll(async () => {
  instance = await startOAuthInstance({ ...TLS_SETTINGS, KEYTURN_MTLS: 'tls' })
  robot = await instance.addRobot({ certificateBoundTokens: true, instanceRoles: ['IAM_OWNER_VIEWER'] })
  ;[certificate, other] = [certificateOf(), certificateOf()]
  token = await tokens(certificate).token()
})

afterEach(() => {
  for (const service of services.splice(0)) {
    service.close()
    service.closeAllConnections?.()
  }
})

afterAll(() => instance?.stop())

const asFetch = (by?: TestCertificate) => fetchWith(by) as typeof fetch

function tokens(by: TestCertificate, scope?: string) {
  const { clientId, clientSecret } = robot
  const issuer = instance.keyturn.baseUrl
  return createTokenSource({
    issuer,
    clientId,
    clientSecret,
    fetch: asFetch(by),
    ...(scope === undefined ? {} : { scope }),
  })
}

const verifier = (options: Partial<VerifierOptions> = {}): Verifier =>
  createVerifier({ issuer: instance.keyturn.baseUrl, audience: robot.project.projectId, fetch: asFetch(), ...options })

/** A service with TLS that asks clients for a certificate. */
async function listening(handler: RequestListener): Promise<string> {
  const [cert, key] = [TLS_SETTINGS.KEYTURN_TLS_CERT_FILE, TLS_SETTINGS.KEYTURN_TLS_KEY_FILE].map((file) =>
    readFileSync(file),
  )
  const service = createHttpsServer({ cert, key, requestCert: true, rejectUnauthorized: false }, handler)
  services.push(service)
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  return `https://127.0.0.1:${(service.address() as AddressInfo).port}`
}

const authorization = () => ({ authorization: `Bearer ${token}` })
const refused = (reason: string) => ({
  code: 'invalid_token',
  status: 401,
  message: `the access token is bound to a client certificate${reason}`,
})
const WITHOUT = refused(': the request comes without one')
const WITH_ANOTHER = refused(': the request comes with another one')
const UNREADABLE = refused(': that of the request cannot be read')

describe('a token source whose fetch presents a certificate', () => {
  it('gets tokens that are bound to it, and calls the API with them [RFC 8705 §3]', async () => {
    const source = tokens(certificate, API_SCOPE)
    expect(decodeJwt(await source.token()).cnf).toEqual({ 'x5t#S256': certificate.thumbprint })
    const api = (by: TestCertificate) =>
      createApi({ issuer: instance.keyturn.baseUrl, tokens: source, fetch: asFetch(by) })
    expect((await api(certificate).webKeys.listWebKeys({})).webKeys).toHaveLength(1)
    await expect(api(other).webKeys.listWebKeys({})).rejects.toThrow('bound to a client certificate')
  })
})

describe('a verifier', () => {
  const at = { proof: null, method: 'GET', url: '/' }

  it('accepts a bound token with its certificate in DER or PEM, and refuses it without and with another one [RFC 8705 §3]', async () => {
    const authenticate = (by?: Uint8Array | string | null) =>
      verifier().authenticate(`Bearer ${token}`, { ...at, certificate: () => by })
    const { der, pem } = certificate
    for (const good of [der, pem, `${pem}${other.pem}`])
      expect(await authenticate(good)).toMatchObject({ subject: robot.userId })
    for (const none of [undefined, null, '', new Uint8Array()])
      await expect(authenticate(none)).rejects.toMatchObject(WITHOUT)
    for (const bad of [other.der, other.pem, `${other.pem}${pem}`])
      await expect(authenticate(bad)).rejects.toMatchObject(WITH_ANOTHER)
    for (const bad of ['x', '-----BEGIN CERTIFICATE-----=-----END CERTIFICATE-----'])
      await expect(authenticate(bad)).rejects.toMatchObject(UNREADABLE)
    await expect(verifier().verify(token)).rejects.toMatchObject(WITHOUT)
    await expect(verifier().authenticate(`Bearer ${token}`, at)).rejects.toMatchObject(WITHOUT)
  })
})

describe('a service', () => {
  it('behind the Express middleware takes the certificate of the TLS connection', async () => {
    const by = verifier()
    const url = await listening((req, res) => {
      expressMiddleware(by)(req, res, () => res.end(by.tokenOf(req).subject))
    })
    const call = (presented?: TestCertificate) =>
      createAuthorizedFetch(tokens(certificate), { origins: [url], fetch: asFetch(presented) })(`${url}/orders`)
    expect(await (await call(certificate)).text()).toBe(robot.userId)
    for (const presented of [undefined, other]) expect((await call(presented)).status).toBe(401)
  })

  it('behind a proxy takes the certificate from where it is told to', async () => {
    const clientCertificate = (request: object) =>
      decodeURIComponent(String((request as IncomingMessage).headers['x-client-certificate'] ?? ''))
    const by = verifier({ clientCertificate })
    const service = createServer((req, res) => {
      expressMiddleware(by)(req, res, () => res.end(by.tokenOf(req).subject))
    })
    services.push(service)
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
    const call = (pem: string) =>
      fetch(url, { headers: { ...authorization(), 'x-client-certificate': encodeURIComponent(pem) } })
    expect(await (await call(certificate.pem)).text()).toBe(robot.userId)
    expect((await call(other.pem)).status).toBe(401)
    const unreadable = await fetch(url, { headers: { ...authorization(), 'x-client-certificate': '%zz' } })
    expect(unreadable.status).toBe(401)
    expect(await unreadable.json()).toEqual({ error: 'invalid_token', error_description: UNREADABLE.message })
  })
})
