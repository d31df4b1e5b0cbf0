/**
 * DPoP proofs (RFC 9449): right, nearly right and wrong.
 */
import { generateKeyPairSync, hash, randomUUID, sign } from 'node:crypto'
import fc from 'fast-check'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const JWK = publicKey.export({ format: 'jwk' })

const wild = fc.constantFrom<unknown>(null, 0, -1, 1e300, '', 'x', '\0', '__proto__', [], {}, true, 'y'.repeat(3_000))

/** A proof for a token request. */
export function rightProof(uri: string): string {
  return proofWith({}, { htm: 'POST', htu: uri })
}

/** A value of the header `DPoP`. @param uri Of the request. @param accessToken The bound token that goes with it. */
export function fuzzProof(uri: string, accessToken?: string): fc.Arbitrary<string> {
  const ath = accessToken === undefined ? {} : { ath: hash('sha256', accessToken, 'base64url') }
  const claims = fc.record({
    htm: mostly('POST', wild),
    htu: mostly(uri, fc.oneof(wild, fc.constantFrom('//', 'http://[', 'http://x:99999', new URL(uri).origin))),
    iat: mostly(undefined, wild),
    jti: mostly(undefined, wild),
    more: fc.oneof(
      { weight: 6, arbitrary: fc.constant(ath) },
      { weight: 1, arbitrary: fc.dictionary(fc.constantFrom('nonce', 'ath', 'exp', 'nbf', 'iss'), wild) },
    ),
  })
  const header = fc.oneof(
    { weight: 6, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.dictionary(fc.constantFrom('alg', 'typ', 'jwk', 'crit', 'b64', 'kid', 'x5c'), wild) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom<object>(
          { kty: 'oct', k: 'eA' },
          { ...JWK, d: 'eA' },
          { ...JWK, x: 'eA' },
          { kty: 'RSA', n: 'AQAB', e: 'AQ' },
          { kty: 'RSA', n: 'x'.repeat(1_000), e: 'x'.repeat(1_000) },
          { kty: 'OKP', crv: 'X25519', x: 'eA' },
        )
        .map((jwk) => ({ jwk })),
    },
  )
  const proof = fc.tuple(header, claims).map(([header, claims]) => proofWith(header, claims))
  return fc.oneof(
    { weight: 8, arbitrary: proof },
    { weight: 1, arbitrary: fc.constantFrom('', 'x', '..', 'a.b.c', '=') },
  )
}

function mostly<T>(value: T, other: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 8, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: other })
}

function proofWith(header: object, { iat, jti, more, ...claims }: Readonly<Record<string, unknown>>): string {
  const payload = {
    ...claims,
    iat: iat === undefined ? Math.floor(Date.now() / 1000) : iat,
    jti: jti === undefined ? randomUUID() : jti,
    ...(more as object),
  }
  const signed = [{ alg: 'ES256', typ: 'dpop+jwt', jwk: JWK, ...header }, payload]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}
