/**
 * Message authentication codes (HMAC-SHA256, RFC 2104) of rows in the database, and thumbprints of keys.
 *
 * The authenticated text is a JSON array of strings, so that it is unambiguous.
 */
import { createHmac, hash } from 'node:crypto'
import type { SignInLink } from '../domain/console/sign-ins.ts'
import type { IssuerKey } from '../domain/federation/trusted-issuer.ts'
import type { CodedRows, PublicKeyMacs } from '../domain/integrity.ts'
import type { PublicJwk } from '../domain/keys/key-algorithm.ts'
import type { KeyPairFacts } from '../domain/keys/web-key.ts'
import type { DerivedKeys } from './integrity-key.ts'
import { isSame } from './secrets.ts'

/** The SHA-256 thumbprint of a key (RFC 7638). */
export function thumbprint(jwk: PublicJwk): string {
  return hash('sha256', canonical(jwk), 'base64url')
}

type Statement = readonly (string | null)[]

const STATEMENTS: { readonly [Kind in keyof CodedRows]: (row: CodedRows[Kind]) => Statement } = {
  webKeys: (key) => {
    if (key.keyId !== thumbprint(key.publicJwk)) throw new Error('its key_id is not the thumbprint of its public_jwk')
    return ofWebKey(key)
  },
  revokedWebKeys: ofWebKey,
  trustedIssuers: ({ issuerId, issuer, keys, algorithms, maxLifetimeSeconds }) => {
    // The first part of a source is a word, and that of a key is JSON.
    const origin =
      keys.kind === 'given'
        ? keys.keys.flatMap(ofJwk)
        : [keys.source.kind, keys.source.url, keys.source.caCertificates, String(keys.source.maxStalenessSeconds)]
    return [issuerId, issuer, String(maxLifetimeSeconds), algorithms.join(' '), ...origin]
  },
  credentials: ({ userId, credentialId, kind, content }) => [userId, credentialId, kind, content],
  signInLinks: ofSignIn,
  consoleSessions: (session) => [session.sessionId, session.clientAddress, ...ofSignIn(session)],
}

export function createPublicKeyMacs(keys: DerivedKeys): PublicKeyMacs {
  const of: PublicKeyMacs['of'] = (kind, row) =>
    createHmac('sha256', keys[kind])
      .update(JSON.stringify(STATEMENTS[kind](row)))
      .digest()
  return {
    of,
    assert: (kind, row, found) => {
      if (isSame(of(kind, row), found)) return
      const reason = 'it was not written by a program that has the integrity key of the instance'
      throw new Error(`its mac does not fit, so ${reason}`)
    },
  }
}

function ofWebKey({ keyId, algorithm, publicJwk }: KeyPairFacts): Statement {
  return [keyId, algorithm, canonical(publicJwk)]
}

/** Null if there is no `kid` or `alg`, because an empty text may be a `kid`. */
function ofJwk({ kid, alg, ...jwk }: IssuerKey): Statement {
  return [canonical(jwk), kid ?? null, alg ?? null]
}

function ofSignIn({ hash, userId, origin, createdAt, expiresAt }: SignInLink): Statement {
  const dates = [createdAt.toISOString(), expiresAt.toISOString()]
  return [Buffer.from(hash).toString('base64url'), userId, JSON.stringify(origin), ...dates]
}

/** The members that a thumbprint covers, in its order. */
function canonical(jwk: PublicJwk): string {
  switch (jwk.kty) {
    case 'RSA':
      return JSON.stringify({ e: jwk.e, kty: jwk.kty, n: jwk.n })
    case 'EC':
      return JSON.stringify({ crv: jwk.crv, kty: jwk.kty, x: jwk.x, y: jwk.y })
    case 'OKP':
      return JSON.stringify({ crv: jwk.crv, kty: jwk.kty, x: jwk.x })
  }
}
