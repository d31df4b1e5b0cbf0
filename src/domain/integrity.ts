/**
 * Integrity of rows: a row is trusted only if a program with the integrity key of the instance has written it. That key is stored
 * sealed. `crypto/` implements these ports (decision 11).
 */
/** Each has a key of its own: the record of a revoked key cannot be published again. */
export type CodedRow =
  | 'webKeys'
  | 'revokedWebKeys'
  | 'trustedIssuers'
  | 'credentials'
  | 'signInLinks'
  | 'consoleSessions'

/** Message authentication codes of rows: of public keys, of what JWTs are believed by, and of sign-ins at the console. */
export interface PublicKeyMacs {
  /** @param texts What the row says that must not be changed, its id included, always in this order. */
  of(kind: CodedRow, texts: readonly string[]): Uint8Array
  /** @throws {Error} if this is not the code of these texts. */
  assert(kind: CodedRow, texts: readonly string[], mac: Uint8Array): void
}

/** Makes secrets of one kind, and compares them. */
export interface Secrets {
  /** A new secret and the hash to keep. The secret is not kept anywhere. */
  generate(): { readonly secret: string; readonly hash: Uint8Array }
  hash(secret: string): Uint8Array
  /** Whether the tag in which it ends proves, without the database, that this instance made it. Constant-time in the tag. */
  isGenuine(secret: string): boolean
  /** Whether one of the hashes is that of the secret. Constant-time in the hashes, and an empty list takes as long as a list of one. */
  matches(secret: string, hashes: readonly Uint8Array[]): boolean
}

/** The secrets of an instance. All but client secrets have a tag, by which an invented one costs no query. */
export interface InstanceSecrets {
  readonly clientSecrets: Secrets
  readonly personalAccessTokens: Secrets
  readonly signInCodes: Secrets
  readonly sessionCookies: Secrets
}

/** Nonces for DPoP proofs (RFC 9449 §8), the same on all replicas. They are stored nowhere. */
export interface DpopNonces {
  current(now: Date): string
  /** Whether this instance handed the nonce out in the last minutes. */
  isValid(nonce: string, now: Date): boolean
}

export interface Integrity {
  readonly publicKeys: PublicKeyMacs
  readonly secrets: InstanceSecrets
  readonly dpopNonces: DpopNonces
}

/** An integrity key that was just made, sealed and open. */
export interface NewIntegrity extends Integrity {
  readonly sealedIntegrityKey: string
}
