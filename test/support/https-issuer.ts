/**
 * An issuer over https that answers what a test says, at any path, and signs JWTs with keys of the test.
 */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { SignJWT } from 'jose'
import type { ServerCertificate, TestAuthority } from './server-certificates.ts'

/** Answers one request. */
export type Answer = (response: ServerResponse, request: IncomingMessage) => void

/** A key of an issuer. */
export interface IssuerKeyPair {
  readonly kid: string
  readonly privateKey: KeyObject
  /** The public half, with `kid`. */
  readonly jwk: Readonly<Record<string, unknown>>
}

/** A running issuer. */
export interface HttpsIssuer {
  /** `https://localhost:<port>`. */
  readonly url: string
  readonly port: number
  /** The paths of the requests so far. */
  readonly requests: readonly string[]
  /** What a path answers from now on. */
  answer(path: string, answer: Answer): void
  /** Publishes discovery, and these keys at `/jwks`. */
  publish(...keys: readonly IssuerKeyPair[]): void
  /** How often the path was asked for. */
  count(path: string): number
  stop(): Promise<void>
}

export const DISCOVERY_PATH = '/.well-known/openid-configuration'

/** A JSON body with a status and headers. */
export function json(body: unknown, headers: Readonly<Record<string, string>> = {}, status = 200): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  }
}

/** A new key. */
export function newIssuerKey(kid: string, more: object = {}): IssuerKeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, ...more } }
}

/** A JWT with these claims, for five minutes. */
export function jwtBy(key: IssuerKeyPair, claims: Record<string, unknown>): Promise<string> {
  const jwt = new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: key.kid })
  return jwt.setIssuedAt().setExpirationTime('5m').sign(key.privateKey)
}

/** Starts one on a free port of 127.0.0.1. */
export async function startHttpsIssuer(
  authority: TestAuthority,
  certificate: ServerCertificate = authority.issue(),
): Promise<HttpsIssuer> {
  const requests: string[] = []
  const answers = new Map<string, Answer>()
  const server = createServer(certificate, (request, response) => {
    const path = request.url ?? ''
    requests.push(path)
    const answer = answers.get(path) ?? json({}, {}, 404)
    answer(response, request)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `https://localhost:${port}`
  const answer: HttpsIssuer['answer'] = (path, next) => {
    answers.set(path, next)
  }
  return {
    url,
    port,
    requests,
    answer,
    publish: (...keys) => {
      answer(DISCOVERY_PATH, json({ issuer: url, jwks_uri: `${url}/jwks` }))
      answer('/jwks', json({ keys: keys.map(({ jwk }) => jwk) }))
    },
    count: (path) => requests.filter((each) => each === path).length,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
