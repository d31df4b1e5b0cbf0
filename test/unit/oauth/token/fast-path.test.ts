import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose'
import type { KeySnapshot } from '../../../../src/app/replica/replica-memory.ts'
import { splitClientId } from '../../../../src/domain/identities/client-id.ts'
import { keySetOf } from '../../../../src/oauth/documents/jwks.ts'
import { eventually } from '../../../support/eventually.ts'
import {
  clients,
  ISSUER,
  NOW,
  requests,
  startTokenServers,
  stopTokenServers,
  type TokenServer,
  type TokenServers,
  users,
} from './token-clients.ts'
import type { TokenRequestCase } from './token-requests.ts'
import { post, type Received } from './token-server.ts'

let servers: TokenServers
let keys: KeySnapshot
let direct: TokenServer
let cold: TokenServer
let providerOnly: TokenServer

/** The part of a response that must be equal on all paths. Of random parts only the format is checked. */
async function comparable({ status, headers, body }: Received): Promise<unknown> {
  const { date, 'x-request-id': requestId, ...rest } = headers
  expect([date, requestId]).toEqual([expect.any(String), expect.any(String)])
  if (status !== 200) return { status, headers: rest, body }
  const { access_token: token, ...members } = JSON.parse(body) as { access_token: string }
  const keySet = createLocalJWKSet(keySetOf(keys.ring) as unknown as JSONWebKeySet)
  const { payload } = await jwtVerify(token, keySet, { currentDate: NOW, issuer: ISSUER })
  const { jti, ...claims } = payload
  expect(jti).toMatch(/^0\.[\w-]{36}$/)
  // The signature of ECDSA is random, its length and that of the id are not.
  return { status, headers: rest, members, header: decodeProtectedHeader(token), claims, length: body.length }
}

/** Compares the responses for a user in memory, for a user who is read from the database, and of oidc-provider alone. */
async function compare(request: TokenRequestCase): Promise<void> {
  const all = [direct, cold, providerOnly]
  const before = all.map((server) => server.record())
  const answers = await Promise.all(all.map(({ url }) => post(url, request)))
  const [fromMemory, fromDatabase, byProvider] = await Promise.all(answers.map(comparable))
  expect(fromMemory).toEqual(byProvider)
  expect(fromDatabase).toEqual(byProvider)

  const { status = 0 } = answers[0] ?? {}
  await eventually(async () => {
    const [left, middle, right] = all.map((server, i) => since(server, before[i]!))
    expect(left).toEqual(right)
    expect(middle).toEqual(right)
    expect(right?.answered).toHaveLength(1)
    // A request without client authentication that can be read tries no credential.
    const isAttempt = status === 401 && !/must (authenticate|be HTTP Basic)/.test(String(answers[0]?.body))
    expect(right?.failed).toHaveLength(isAttempt ? 1 : 0)
    // Only of a user who exists.
    const claimed = right?.failed.map(splitClientId).filter((parts) => parts !== undefined && users.has(parts.userId))
    expect(right?.audited).toEqual(claimed?.map((parts) => `anonymous users/${parts?.userId} 127.0.0.1 INVALID_CLIENT`))
    // Neither an assertion nor a certificate is a secret.
    const others = ['client_assertion=ey', encodeURIComponent(clients.certified)]
    const hasSecret = !others.some((text) => String(request.body).includes(text))
    expect(right?.used).toHaveLength(status === 200 && hasSecret ? 1 : 0)
  })
}

function since({ record }: TokenServer, at: ReturnType<TokenServer['record']>) {
  const { used, failed, audited, answered } = record()
  return {
    used: used.slice(at.used.length),
    audited: audited.slice(at.audited.length),
    failed: failed.slice(at.failed.length),
    answered: answered.slice(at.answered.length),
  }
}

describe('a plain token request', () => {
  beforeAll(async () => {
    servers = await startTokenServers()
    ;({ keys, direct, cold, providerOnly } = servers)
  })
  afterAll(() => stopTokenServers(servers))

  it.each(requests.map((request) => [request.name, request] as const))(
    'is answered without oidc-provider as with it: %s',
    async (_, request) => {
      await compare(request)
    },
  )
})
