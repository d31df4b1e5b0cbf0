/**
 * Message authentication codes (HMAC-SHA256, RFC 2104) of the public keys in the database, of trusted issuers, federated identities and
 * client certificates, and thumbprints of keys.
 *
 * The authenticated text is a JSON array of strings, so that it is unambiguous.
 */
import { createHmac, createSecretKey, hash, timingSafeEqual } from 'node:crypto'
import type { PublicKeyMacs } from '../domain/integrity.ts'
import type { PublicJwk } from '../domain/keys/key-algorithm.ts'
import type { DerivedKeys } from './integrity-key.ts'

/** The SHA-256 thumbprint of a key (RFC 7638). */
export function thumbprint(jwk: PublicJwk): string {
  return hash('sha256', canonical(jwk), 'base64url')
}

/** Makes and checks codes. */
export function createPublicKeyMacs(keys: DerivedKeys): PublicKeyMacs {
  const webKeys = createRowMac(keys.webKeys)
  const revokedWebKeys = createRowMac(keys.revokedWebKeys)
  const userKeys = createRowMac(keys.userKeys)
  const trustedIssuers = createRowMac(keys.trustedIssuers)
  const federatedIdentities = createRowMac(keys.federatedIdentities)
  const clientCertificates = createRowMac(keys.clientCertificates)
  const ofWebKey: PublicKeyMacs['ofWebKey'] = ({ keyId, algorithm, publicJwk }) => {
    if (keyId !== thumbprint(publicJwk)) throw new Error('its key_id is not the thumbprint of its public_jwk')
    return webKeys([keyId, algorithm, canonical(publicJwk)])
  }
  const ofRevokedWebKey: PublicKeyMacs['ofRevokedWebKey'] = ({ keyId, algorithm, publicJwk }) =>
    revokedWebKeys([keyId, algorithm, canonical(publicJwk)])
  const ofUserKey: PublicKeyMacs['ofUserKey'] = (userId, { keyId, publicJwk }) => {
    const { kid, alg, ...jwk } = publicJwk
    // Null if there is none, because an empty text may be a `kid`.
    return userKeys([userId, keyId, canonical(jwk), kid ?? null, alg ?? null])
  }
  const ofTrustedIssuer: PublicKeyMacs['ofTrustedIssuer'] = ({ issuerId, issuer, keys, algorithms, ...limits }) => {
    const { maxLifetimeSeconds } = limits
    // The first part of a source is a word, and that of a key is JSON.
    const origin =
      keys.kind === 'given'
        ? keys.keys.flatMap(({ kid, alg, ...jwk }) => [canonical(jwk), kid ?? null, alg ?? null])
        : [keys.source.kind, keys.source.url, keys.source.caCertificates, String(keys.source.maxStalenessSeconds)]
    return trustedIssuers([issuerId, issuer, String(maxLifetimeSeconds), algorithms.join(' '), ...origin])
  }
  const ofFederatedIdentity: PublicKeyMacs['ofFederatedIdentity'] = (userId, identity) => {
    const { identityId, issuerId, subject, audience } = identity
    const claims = identity.claims.flatMap(({ pointer, value }) => [pointer, value])
    return federatedIdentities([userId, identityId, issuerId, subject, audience, ...claims])
  }
  const ofClientCertificate: PublicKeyMacs['ofClientCertificate'] = (userId, { certificateId, match, value }) =>
    clientCertificates([userId, certificateId, match, value])
  return {
    ofWebKey,
    assertWebKey: (key, found) => assertSameMac(ofWebKey(key), found),
    ofRevokedWebKey,
    assertRevokedWebKey: (key, found) => assertSameMac(ofRevokedWebKey(key), found),
    ofUserKey,
    assertUserKey: (userId, key, found) => assertSameMac(ofUserKey(userId, key), found),
    ofTrustedIssuer,
    assertTrustedIssuer: (issuer, found) => assertSameMac(ofTrustedIssuer(issuer), found),
    ofFederatedIdentity,
    assertFederatedIdentity: (userId, identity, found) => assertSameMac(ofFederatedIdentity(userId, identity), found),
    ofClientCertificate,
    assertClientCertificate: (userId, certificate, found) =>
      assertSameMac(ofClientCertificate(userId, certificate), found),
  }
}

/** Makes codes of statements under a key. */
export function createRowMac(key: Uint8Array): (statement: readonly (string | null)[]) => Uint8Array {
  const secret = createSecretKey(key)
  return (statement) => createHmac('sha256', secret).update(JSON.stringify(statement)).digest()
}

/** @throws {Error} if the codes differ. Constant-time. */
export function assertSameMac(expected: Uint8Array, found: Uint8Array): void {
  if (found.length === expected.length && timingSafeEqual(expected, found)) return
  throw new Error('its mac does not fit, so it was not written by a program that has the integrity key of the instance')
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
