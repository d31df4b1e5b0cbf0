import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose'
import type { KeySnapshot } from '../../../../src/app/replica/replica-memory.ts'
import { splitClientId } from '../../../../src/domain/identities/client-id.ts'
import { keySetOf } from '../../../../src/oauth/documents/jwks.ts'
import { eventually } from '../../../support/eventually.ts'
import { basicCredentials } from '../../../support/oauth-instance.ts'
import {
  clients,
  first,
  ISSUER,
  NOW,
  requests,
  second,
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
async function compare(send: typeof post, request: TokenRequestCase): Promise<number> {
  const all = [direct, cold, providerOnly]
  const before = all.map((server) => server.record())
  const answers = await Promise.all(all.map(({ url }) => send(url, request)))
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
  return status
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

/** Compares the fast path with oidc-provider, with so many random requests beside the known ones. */
export function describeFastPath(runs: number): void {
  describe('a plain token request', () => {
    beforeAll(async () => {
      servers = await startTokenServers()
      ;({ keys, direct, cold, providerOnly } = servers)
    })
    afterAll(() => stopTokenServers(servers))

    it.each(requests.map((request) => [request.name, request] as const))(
      'is answered without oidc-provider as with it: %s',
      async (_, request) => {
        await compare(post, request)
      },
    )

    it('is answered in the same way with random fields', async () => {
      const value = (...usualOnes: string[]) =>
        fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...usualOnes) }, fc.string({ unit: 'binary', maxLength: 12 }))
      const id = value(clients.clientId, clients.clientId, clients.disabled, clients.unknown, '')
      const secret = value(first!.secret, first!.secret, second!.secret, 'wrong', '')
      const scopes = ['openid', 'email', 'invoices:read', 'admin', '', 'urn:service:iam:org:projects:roles']
      const scope = fc.array(value(...scopes), { maxLength: 4 }).map((words) => words.join(' '))
      const field = fc.oneof(
        fc.tuple(fc.constant('grant_type'), value('client_credentials', 'client_credentials', 'password')),
        fc.tuple(fc.constant('client_id'), id),
        fc.tuple(fc.constant('client_secret'), secret),
        fc.tuple(fc.constant('scope'), scope),
        fc.tuple(value('resource', 'x', '__proto__'), value(ISSUER, 'x')),
      )
      const request = fc.record(
        {
          form: fc.oneof(
            fc.array(field, { maxLength: 6 }),
            fc.tuple(id, secret, scope, fc.subarray([0, 1, 2, 3])).map(([clientId, clientSecret, words, kept]) => {
              const usualForm = [
                ['grant_type', 'client_credentials'],
                ['client_id', clientId],
                ['client_secret', clientSecret],
                ['scope', words],
              ]
              return usualForm.filter((_, i) => kept.length < 2 || kept.includes(i)) as [string, string][]
            }),
          ),
          basic: fc.option(fc.tuple(id, secret), { freq: 2, nil: undefined }),
          chunked: fc.boolean(),
        },
        { requiredKeys: ['form', 'basic'] },
      )
      const plain = (grantType: string, clientSecret: string): [string, string][] => [
        ['grant_type', grantType],
        ['client_id', clients.clientId],
        ['client_secret', clientSecret],
      ]
      // So that each status occurs.
      const examples = [
        plain('client_credentials', first!.secret),
        plain('client_credentials', 'wrong'),
        plain('password', first!.secret),
      ].map((form): [{ form: [string, string][]; basic: undefined; chunked: boolean }] => [
        { form, basic: undefined, chunked: false },
      ])
      const answers: number[] = []
      await fc.assert(
        fc.asyncProperty(request, async ({ form, basic, chunked = false }) => {
          const authorization = basic === undefined ? {} : { authorization: basicCredentials(...basic) }
          const body = String(new URLSearchParams(form))
          answers.push(await compare(post, { name: 'random', body, headers: authorization, chunked }))
        }),
        { numRuns: runs, examples },
      )
      expect(new Set(answers)).toEqual(new Set([200, 400, 401]))
    })
  })
}
