import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { createVerifier, type Verifier } from '../../../packages/verify/src/index.ts'
import { KEY_ALGORITHM_NAMES } from '../../../src/domain/keys/key-algorithm.ts'
import { eventually } from '../../support/eventually.ts'
import { ManualRuntime } from '../../support/manual-runtime.ts'
import { json, type ScriptedIssuer, startScriptedIssuer } from '../../support/scripted-issuer.ts'

interface Key {
  readonly jwk: JWK
  /** A token that it signs, good for an hour. */
  readonly sign: (issuer: string, now: number) => Promise<string>
}

let keys: ReadonlyMap<string, Key>
let server: ScriptedIssuer
let runtime: ManualRuntime
let verifier: Verifier

beforeAll(async () => {
  keys = new Map(await Promise.all(KEY_ALGORITHM_NAMES.map(async (alg) => [alg, await createKey(alg)] as const)))
})
beforeEach(async () => {
  server = await startScriptedIssuer()
  runtime = new ManualRuntime()
  verifier = createVerifier({ issuer: server.issuer, audience: 'shop' }, runtime)
  publish(['RS256'])
})
afterEach(() => server.stop())

async function createKey(alg: string): Promise<Key> {
  const { publicKey, privateKey } = await generateKeyPair(alg)
  return {
    jwk: { ...(await exportJWK(publicKey)), kid: alg, alg, use: 'sig' },
    sign: async (issuer, now) => {
      const seconds = Math.floor(now / 1000)
      return await new SignJWT({ client_id: 'user@shop', jti: 'one' })
        .setProtectedHeader({ alg, kid: alg, typ: 'at+jwt' })
        .setIssuer(issuer)
        .setAudience('shop')
        .setSubject('user')
        .setIssuedAt(seconds)
        .setExpirationTime(seconds + 3600)
        .sign(privateKey)
    },
  }
}

function publish(names: readonly string[], headers: Readonly<Record<string, string>> = {}): void {
  server.publish(json(200, { keys: names.map((name) => keys.get(name)!.jwk) }, headers))
}

async function verify(name: string): Promise<string> {
  const token = await keys.get(name)!.sign(server.issuer, runtime.now())
  return await verifier.verify(token).then(
    () => 'accepted',
    (error: { code: string }) => error.code,
  )
}

describe('the JWKS of a verifier', () => {
  it('is fetched once for all who need it at the start, and kept', async () => {
    expect(new Set(await Promise.all(Array.from({ length: 20 }, () => verify('RS256'))))).toEqual(new Set(['accepted']))
    runtime.advance(149_999)
    await verify('RS256')
    expect(server.jwksFetches()).toBe(1)
  })

  it('is refreshed at half its time, with jitter, while tokens are verified with the copy', async () => {
    await verify('RS256')
    runtime.advance(150_000)
    server.publish(() => undefined)
    expect(await verify('RS256')).toBe('accepted')
    await eventually(() => expect(server.jwksFetches()).toBe(2))
    expect(await verify('RS256')).toBe('accepted')
  })

  it('is fetched again for a key that it does not have, once in five seconds', async () => {
    await verify('RS256')
    publish(['EdDSA', 'RS256'])
    expect(await verify('EdDSA')).toBe('invalid_token')
    expect(server.jwksFetches()).toBe(1)
    runtime.advance(5_000)
    expect(await verify('EdDSA')).toBe('accepted')
    expect(await verify('ES256')).toBe('invalid_token')
    expect(await verify('RS256')).toBe('accepted')
    expect(server.jwksFetches()).toBe(2)
  })

  it.each([
    ['max-age', { 'cache-control': 'public, max-age=60' }, 60_000],
    ['max-age less its age', { 'cache-control': 'max-age=60', age: '20' }, 40_000],
    ['the own limit, if that is shorter', { 'cache-control': 'max-age=86400' }, 300_000],
    ['a second at least', { 'cache-control': 'max-age=0' }, 1_000],
  ])('is trusted for %s [RFC 9111 §4.2]', async (_, headers, time) => {
    publish(['RS256'], headers)
    runtime.share = 1
    await verify('RS256')
    server.publish(json(500, {}))
    runtime.advance(time - 1)
    expect(await verify('RS256')).toBe('accepted')
    runtime.advance(2_000)
    expect(await verify('RS256')).toBe('unavailable')
  })

  it.each([
    ['fails', json(503, {})],
    ['is no JWKS', json(200, { keys: 'none' })],
    ['is cut off', (response) => response.destroy()],
  ] as [string, ReturnType<typeof json>][])(
    'that %s makes requests unavailable, not refused, and is fetched again a second later',
    async (_, answer) => {
      server.publish(answer)
      expect(await verify('RS256')).toBe('unavailable')
      publish(['RS256'])
      expect(await verify('RS256')).toBe('unavailable')
      runtime.advance(1_000)
      expect(await verify('RS256')).toBe('accepted')
    },
  )
})
