/**
 * Integrity of rows: a row is trusted only if a program with the integrity key of the instance has written it. That key is stored
 * sealed. `crypto/` implements these ports (decision 11).
 */
import type { ConsoleSession, SignInLink } from './console/sign-ins.ts'
import type { TrustedIssuer } from './federation/trusted-issuer.ts'
import type { CredentialKind } from './identities/credential.ts'
import type { KeyPairFacts } from './keys/web-key.ts'

/**
 * Message authentication codes of public keys, and of what JWTs are believed by.
 *
 * The codes of web keys and of revoked ones differ, so that the record of a revoked key cannot be published again.
 */
export interface PublicKeyMacs {
  /** @throws {Error} if the key id of a web key is not the thumbprint of the key (RFC 7638). */
  of<Kind extends keyof CodedRows>(kind: Kind, row: CodedRows[Kind]): Uint8Array
  /** @throws {Error} if this is not its code; like `of`. */
  assert<Kind extends keyof CodedRows>(kind: Kind, row: CodedRows[Kind], mac: Uint8Array): void
}

/** What a code covers, by the kind of its row. */
export interface CodedRows {
  readonly webKeys: KeyPairFacts
  readonly revokedWebKeys: KeyPairFacts
  readonly trustedIssuers: Omit<TrustedIssuer, 'createdAt'>
  readonly credentials: CredentialFacts
}

/** Of a credential that is no secret. It is of one service user, and of no other. */
interface CredentialFacts {
  readonly userId: string
  readonly credentialId: string
  readonly kind: CredentialKind
  /** What makes the credential, as it is stored. */
  readonly content: string
}

/** Generates client secrets and personal access tokens, and compares them in constant time. */
export interface ClientSecrets {
  /** A new secret and the hash to keep. The secret is not kept anywhere. */
  generate(): { readonly secret: string; readonly hash: Uint8Array }
  /** The hash to keep of a secret that was generated before the instance. */
  hash(secret: string): Uint8Array
  /** A new personal access token, which begins with `ktn_pat_` and ends in a tag, and the hash to keep. */
  generatePersonalAccessToken(): { readonly token: string; readonly hash: Uint8Array }
  /** Whether the tag of a personal access token proves, without the database, that this instance made it. Constant-time in the tag. */
  isGenuinePersonalAccessToken(token: string): boolean
  hashPersonalAccessToken(token: string): Uint8Array
  /**
   * Whether one of the hashes is that of the client secret. Constant-time in the hashes, and an empty list takes as long as a list
   * of one.
   */
  matches(secret: string, hashes: readonly Uint8Array[]): boolean
  matchesPersonalAccessToken(token: string, hashes: readonly Uint8Array[]): boolean
}

/** The secrets of the console, and the codes of their rows. Each secret has a tag, by which an invented one costs no query. */
export interface ConsoleSecrets {
  /** The code of a new sign-in link, and the hash to keep. */
  generateCode(): { readonly code: string; readonly hash: Uint8Array }
  /** The value of the cookie of a new session, and the hash to keep. */
  generateCookie(): { readonly cookie: string; readonly hash: Uint8Array }
  /** The hash of a code; undefined if this instance did not make it. Constant-time in the tag. */
  hashCode(code: string): Uint8Array | undefined
  /** The same for the value of a cookie. */
  hashCookie(cookie: string): Uint8Array | undefined
  ofLink(link: SignInLink): Uint8Array
  /** @throws {Error} if this is not its code. */
  assertLink(link: SignInLink, mac: Uint8Array): void
  /** Of all but the last use. */
  ofSession(session: SessionFacts): Uint8Array
  /** @throws {Error} if this is not its code. */
  assertSession(session: SessionFacts, mac: Uint8Array): void
}

/** What the code of a session covers. */
export type SessionFacts = Omit<ConsoleSession, 'lastUsedAt'>

/** Nonces for DPoP proofs (RFC 9449 §8), the same on all replicas. They are stored nowhere. */
export interface DpopNonces {
  /** The nonce to hand out. It changes each minute. */
  current(now: Date): string
  /** Whether this instance handed the nonce out in the last minutes. */
  isValid(nonce: string, now: Date): boolean
}

/** What can be done with an open integrity key. */
export interface Integrity {
  readonly publicKeys: PublicKeyMacs
  readonly secrets: ClientSecrets
  readonly dpopNonces: DpopNonces
  readonly console: ConsoleSecrets
}

/** An integrity key that was just made, sealed and open. */
export interface NewIntegrity extends Integrity {
  readonly sealedIntegrityKey: string
}
