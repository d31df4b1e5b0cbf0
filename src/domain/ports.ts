/**
 * What the use cases need from outside. `crypto/` and `storage/` implement these; `server/` connects them.
 */
import type { WebKeyConfig } from './key-algorithm.ts'
import type { KeyRing, KeyRingChange, SealedKeyPair } from './key-ring.ts'
import type { ServiceUser } from './service-user.ts'
import type { ActiveWebKey } from './web-key.ts'

/** The web keys in the database. */
export interface KeyStore {
  /**
   * Runs `decide` on the ring as it is and stores what it returns, as one step: no other update, in any process, sees
   * or changes the ring in between.
   *
   * `decide` must be pure and quick: it runs under the lock, and may run again on a newer ring. `now` is the time of
   * the database and never before the date of anything that the ring already has. If `decide` throws, nothing is
   * stored and the error passes through.
   *
   * @throws {DomainError} `storage_unavailable` when the database cannot be reached in time. The change may or may not
   * have been stored then.
   */
  update<T>(decide: (ring: KeyRing, now: Date) => KeyRingChange<T>): Promise<T>
}

/** Everything that a replica serves from memory, as it was at one version. */
export interface InstanceState {
  readonly version: number
  readonly ring: KeyRing
  /** The sealed private key of the active web key; null if none is active. */
  readonly sealedActiveKey: string | null
  /** The users that were asked for and exist. */
  readonly users: ReadonlyMap<string, ServiceUser>
}

/** Consistent reads of the instance. Every method throws {DomainError} `storage_unavailable` like `KeyStore`. */
export interface InstanceReader {
  /** The version of the newest committed change. It only grows. */
  version(): Promise<number>
  /** The web keys and the named users, all as of the same version. Unknown ids are left out. */
  load(userIds: readonly string[]): Promise<InstanceState>
  /** One user, and the version at which it was so. */
  findServiceUser(userId: string): Promise<{ readonly version: number; readonly user: ServiceUser | undefined }>
}

/** Tells of changes by other replicas, sooner than comparing versions would. Only a hint: it may miss any of them. */
export interface ChangeFeed {
  /** Calls `onChange` after changes, and after every reconnect, until the returned function is called. */
  subscribe(onChange: () => void): () => Promise<void>
}

/** The first administrator of an empty instance. */
export interface FirstAdministrator {
  readonly userId: string
  readonly projectId: string
  readonly projectName: string
  readonly secretId: string
  readonly secretHash: Uint8Array
}

/** Fills an empty instance. */
export interface InstanceInitializer {
  /** Whether the instance has been initialised. */
  isInitialised(): Promise<boolean>
  /**
   * Stores a project, a service user with `IAM_OWNER` and one client secret, and one active web key, in one
   * transaction, unless the instance has them already.
   *
   * `beforeCommit` runs when everything is written and no other replica can initialise any more. It must not use the
   * database. If it throws, nothing is stored and the error passes through.
   *
   * @returns Whether this call initialised the instance.
   */
  initialise(
    content: { readonly administrator: FirstAdministrator; readonly firstKey: SealedKeyPair },
    beforeCommit: () => Promise<void>,
  ): Promise<boolean>
}

/** Makes key pairs. */
export interface KeyPairGenerator {
  /**
   * Generates a key pair without blocking, and seals its private half.
   *
   * @throws {DomainError} `key_generation_busy` when too many are being generated already.
   */
  generate(config: WebKeyConfig): Promise<SealedKeyPair>
}

/** Signs with one private key. */
export interface Signer {
  readonly key: ActiveWebKey
  /** The JWS signature of the bytes, in the form of the key's algorithm (RFC 7515 §5.1). */
  sign(data: Uint8Array): Promise<Uint8Array>
}

/** Opens the private key of the active web key. No other private key is ever opened. */
export interface SignerFactory {
  /**
   * @throws {Error} if no configured master key opens it, or it is not the private key of this web key. The message
   * says which, and nothing of the key.
   */
  open(key: ActiveWebKey, sealedPrivateKey: string): Promise<Signer>
}

/** Makes and compares client secrets. */
export interface ClientSecrets {
  /** A new secret and the hash to keep. The secret is not kept anywhere. */
  generate(): { readonly secret: string; readonly hash: Uint8Array }
  /**
   * Whether the secret is one of those with these hashes. The time it takes tells nothing about the hashes, and an
   * empty list takes as long as one.
   */
  matches(secret: string, hashes: readonly Uint8Array[]): boolean
}

/** Verifies access tokens that this service issued. */
export interface AccessTokenVerifier {
  /**
   * The subject of a token that one of the ring's keys signed, for the service itself, and that has not expired.
   *
   * @throws {DomainError} `token_invalid`.
   */
  subjectOf(token: string, ring: KeyRing): Promise<string>
}

/** Something worth an operator's attention. Never carries a secret. */
export interface Log {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}
