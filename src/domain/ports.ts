/**
 * What the use cases need from outside. `crypto/` and `storage/` implement these; `server/` connects them.
 */
import type { AuditEntry, AuditEvent, AuditFilter, AuditPosition, Omission, PositionedEvent } from './audit.ts'
import type { ExportedState } from './configuration/export.ts'
import type { ConfigurationPlan, ConfiguredState } from './configuration/plan.ts'
import type { Person } from './console/person.ts'
import type { ConsoleSession, Sessions, SignInLink, SignIns } from './console/sign-ins.ts'
import type { DeprecatedCalls, NamedDeprecatedCalls } from './deprecated-calls.ts'
import type { FederatedSubject, FederatedToken } from './federation/federated-identity.ts'
import type { FetchedKeys } from './federation/issuer-keys.ts'
import type { TrustedIssuer } from './federation/trusted-issuer.ts'
import type { ChangeEntry, IssuedAccessToken, VerifiedAccessToken } from './identities/authority.ts'
import type { IdentityChanges } from './identities/changed-users.ts'
import type { VerifiedCertificate } from './identities/client-certificate.ts'
import type { DpopProof } from './identities/dpop.ts'
import type { Project, ProjectMember } from './identities/project.ts'
import type { Reach } from './identities/reach.ts'
import type { ServiceUser } from './identities/service-user.ts'
import type { PresentedCertificate, TokenBinding } from './identities/token-binding.ts'
import type { NewIntegrity } from './integrity.ts'
import type { WebKeyConfig } from './keys/key-algorithm.ts'
import type { KeyRing, KeyRingChange, SealedKeyPair } from './keys/key-ring.ts'
import type { Rotation } from './keys/rotation.ts'
import type { ActiveWebKey, InitialWebKey, RevokedWebKey } from './keys/web-key.ts'
import type { Heartbeat, SeenReplicas } from './replicas.ts'
import type { Revision } from './revision.ts'
import type { ChangeMoment } from './time.ts'

/** The web keys in the database. */
export interface KeyStore {
  /**
   * Runs `decide` on the ring as it is and stores what it returns, as one step: no other update, in any process, sees
   * or changes the ring in between.
   *
   * `decide` must be pure and quick: it runs under the lock, and may run again on a newer ring. `now` is the date of the
   * change: by the clock of the database, and after every earlier date of the ring and of changes, so that it may be up to a day
   * ahead of that clock. If `decide` throws, nothing is stored and the error passes through. `entry` becomes an audit event.
   * Before `decide`, and whatever it decides, the authority of `entry` is checked in the same step, against the users,
   * credentials and keys as they are then, by the time of the database.
   *
   * @throws {DomainError} `token_invalid` or `permission_missing` if the authority of a user does not hold any more.
   * @throws {DomainError} `storage_unavailable` when the database cannot be reached in time. Nothing is stored then.
   * @throws {DomainError} `change_outcome_unknown` when the database has not confirmed a change, which may be stored or not. Only an
   * idempotent change may be repeated then.
   */
  update<T>(
    entry: ChangeEntry,
    decide: (ring: KeyRing, now: Date, rotation: Rotation) => KeyChange<T>,
  ): Promise<StoredKeyChange<T>>
  /**
   * Dates the publication of initial keys that have no date yet (see `planPublication`), as one step like `update`. Call it
   * after an update that added a key has returned; what another process left undated is dated as well.
   *
   * @returns The keys that it dated.
   * @throws {DomainError} `storage_unavailable`. They may be dated or not, and another call dates those that are not.
   */
  publish(): Promise<readonly InitialWebKey[]>
  /** A key that was revoked, however long ago. */
  findRevoked(keyId: string): Promise<RevokedWebKey | undefined>
  /** The keys that were revoked last, at most 1000, ordered by creation date, oldest first. */
  listRevoked(): Promise<readonly RevokedWebKey[]>
}

/** A change of the ring, and perhaps of how it rotates. Nothing changes if there is neither a step nor a new rotation. */
export interface KeyChange<T> extends KeyRingChange<T> {
  /** What to store about rotation. The same object as before, or none: it stays as it is. */
  readonly rotation?: Rotation
  /** The resource of the audit event, if the decision knows it better than the caller. */
  readonly resource?: string
}

/** The keys as an update has left them, so that a replica need not read them again. */
export interface StoredKeyChange<T> {
  readonly result: T
  readonly ring: KeyRing
  readonly rotation: Rotation
  /** The revision on which the update was decided. */
  readonly before: Revision
  /** The revision that the update made; `before` if it changed nothing. */
  readonly after: Revision
}

/** The next state of a resource. The same object as before: nothing changes. Null: it is deleted. */
export interface Change<A, T> {
  readonly next: A | null
  readonly result: T
}

/** A page of a list: what comes after a cursor, which is the last item of the page before. */
export interface Page<Cursor> {
  readonly after: Cursor | null
  readonly limit: number
}

/** Which service users a list has. */
export interface UserFilter {
  /** Null: of all projects. */
  readonly projectId: string | null
  /** Only those whose name or client ID contains it, in any case. Empty: all. */
  readonly search: string
  /** Only those within it. */
  readonly reach: Reach
}

/**
 * Projects and service users in the database. Every method throws {DomainError} `storage_unavailable` like `KeyStore`, and those that
 * change something `change_outcome_unknown`.
 */
export interface IdentityStore {
  /**
   * Decides about a project and stores the outcome as one step, like `KeyStore.update`, with `entry` as an audit event.
   *
   * @throws {DomainError} `project_name_taken`; `project_audience_taken`; `project_has_users` if a project with users would be deleted.
   */
  changeProject<T>(
    projectId: string,
    entry: ChangeEntry,
    decide: (project: Project | undefined, now: Date) => Change<Project, T>,
  ): Promise<T>
  /**
   * Decides about a user and stores the outcome as one step, like `KeyStore.update`, with `entry` as an audit event. `decide` gets
   * the clock besides the date, because credentials of a user end by the clock. A user whom the caller may not see is undefined for it, and a
   * project is too in `changeProject`.
   *
   * @throws {DomainError} what `assertMayChangeUser` throws; `project_not_found`, `project_role_not_found` or `project_scope_not_found` if the user would
   * belong to or be granted something that does not exist; `last_owner` if no owner would be left.
   */
  changeUser<T>(
    userId: string,
    entry: ChangeEntry,
    decide: (user: ServiceUser | undefined, moment: ChangeMoment) => Change<ServiceUser, T>,
  ): Promise<T>
  findProject(projectId: string): Promise<Project | undefined>
  /** Those within the reach, ordered by name, which is the cursor. */
  listProjects(page: Page<string>, reach: Reach): Promise<readonly Project[]>
  /** The users with a role over a project in the API, ordered by user id, which is the cursor. */
  listMembers(projectId: string, page: Page<string>): Promise<readonly ProjectMember[]>
  findUser(userId: string): Promise<ServiceUser | undefined>
  /** Those that the filter lets through, ordered by creation date and id. */
  listUsers(
    filter: UserFilter,
    page: Page<{ readonly createdAt: Date; readonly userId: string }>,
  ): Promise<readonly ServiceUser[]>
  /** The user with a personal access token of this hash, expired or not. */
  findUserByPersonalAccessToken(hash: Uint8Array): Promise<ServiceUser | undefined>
}

/** The trusted issuers in the database. Every method throws {DomainError} `storage_unavailable`, and `change` what `KeyStore.update` does. */
export interface FederationStore {
  /**
   * Decides about all issuers and stores the difference as one step, like `KeyStore.update`, with `entry` as an audit event. `decide` gets
   * the clock besides the date, because fetches are due by the clock.
   */
  change<T>(
    entry: ChangeEntry,
    decide: (issuers: readonly TrustedIssuer[], moment: ChangeMoment) => IssuersChange<T>,
  ): Promise<T>
  /** Ordered by `issuer`. */
  list(): Promise<readonly TrustedIssuer[]>
}

/** The next trusted issuers. The same list as before: nothing changes. */
export interface IssuersChange<T> {
  readonly next: readonly TrustedIssuer[]
  readonly result: T
}

/**
 * The sign-in links and sessions of the console in the database. Every method throws {DomainError} `storage_unavailable`, and `change`
 * what `KeyStore.update` does.
 */
export interface ConsoleStore {
  /**
   * Decides about all links and sessions and stores the difference as one step, like `KeyStore.update`, with `entry` as an audit event.
   *
   * `decide` gets the user of a `client` authority, which is not checked before; undefined if there is no such user.
   */
  change<T>(
    entry: ChangeEntry,
    decide: (signIns: SignIns, clock: Date, user: Pick<ServiceUser, 'enabled'> | undefined) => SignInsChange<T>,
  ): Promise<T>
  /** Also those that have ended and were not deleted yet. */
  listSessions(): Promise<Sessions>
  findLink(hash: Uint8Array): Promise<SignInLink | undefined>
  /** A session, ended or not. @param key The hash of its cookie, or its id. @throws {UnreadableRow} */
  findSession(key: Uint8Array | string): Promise<ConsoleSession | undefined>
  /** Notes that a session is used now. Within a minute of the last use it changes nothing. It is no change of the instance. */
  recordUse(sessionId: string): Promise<void>
}

/** What binds the return from an OpenID provider to the browser that was sent there. */
export interface SignInAttempt {
  readonly state: string
  readonly nonce: string
  /** The code verifier of PKCE (RFC 7636). */
  readonly verifier: string
}

/**
 * An OpenID provider, at which people prove who they are. Both methods throw {DomainError} `openid_provider_unavailable`.
 */
export interface OpenIdProvider {
  /** Where to send a browser, and what it must bring back. */
  begin(): Promise<{ readonly url: string; readonly attempt: SignInAttempt }>
  /**
   * Who came back.
   *
   * @param query Of the address to which the provider has sent the browser, with its question mark.
   * @throws {DomainError} `sign_in_failed`.
   */
  finish(query: string, attempt: SignInAttempt): Promise<Person>
}

/** The next links and sessions. */
export interface SignInsChange<T> {
  readonly next: SignIns
  readonly result: T
  /** What ended by it besides: audit events of their own. Default: nothing. */
  readonly replaced?: readonly Pick<AuditEntry, 'action' | 'resource'>[]
}

/** What of an instance a configuration is about, by names. */
export interface ConfigurationSubject {
  readonly projects: readonly string[]
  readonly users: readonly { readonly project: string; readonly name: string }[]
  readonly audiences: readonly string[]
  /** What has this label belongs to it too. Null: only what is named. */
  readonly label: string | null
}

/** A plan that is stored. */
export interface ConfigurationChange {
  readonly plan: ConfigurationPlan
  /** Of its audit events: what is changed, created, deleted and taken over. */
  readonly resources: readonly string[]
}

/** What to export. */
export interface ConfigurationSelection {
  /** Null: with and without labels. */
  readonly label: string | null
  /** Names; empty: everything. */
  readonly projects: readonly string[]
  /** The most users and projects to read: one more says that there are more. */
  readonly maxUsers: number
  readonly maxProjects: number
}

/** What is exported, and the names of what it refers to. */
export interface SelectedState extends ExportedState {
  readonly version: number
  readonly clock: Date
  /** By id. */
  readonly projectNames: ReadonlyMap<string, string>
  readonly issuerNames: ReadonlyMap<string, string>
}

/** An instance as configurations see it. Every method throws {DomainError} `storage_unavailable`. */
export interface ConfigurationStore {
  read(subject: ConfigurationSubject): Promise<{ readonly state: ConfiguredState; readonly moment: ChangeMoment }>
  select(selection: ConfigurationSelection): Promise<SelectedState>
  /**
   * Plans and stores the plan as one step, like `KeyStore.update`, with an audit event for each of its resources. What a plan takes over
   * makes a new version too, because pruning depends on labels.
   *
   * @param label What is created and taken over gets it.
   * @returns The version of the instance afterwards.
   * @throws {DomainError} also what `KeyStore.update` does.
   */
  apply(
    entry: ChangeEntry,
    { subject, label }: { readonly subject: ConfigurationSubject; readonly label: string },
    decide: (state: ConfiguredState, moment: ChangeMoment) => ConfigurationChange,
  ): Promise<{ readonly plan: ConfigurationPlan; readonly version: number }>
}

/** The keys that were fetched, in the database. Every method throws {DomainError} `storage_unavailable`, and `update` what `KeyStore.update` does. */
export interface IssuerKeyStore {
  /**
   * Decides about the fetched keys of an issuer and stores the outcome as one step, like `KeyStore.update`. Only a change is announced to
   * replicas, and an audit event: other updates, such as when the next fetch is due, leave the version of the instance as it is.
   *
   * @returns The issuer as the update leaves it; undefined if it is not trusted any more. If its keys are given, nothing is decided.
   */
  update(
    entry: ChangeEntry,
    issuerId: string,
    decide: (keys: FetchedKeys) => IssuerKeyUpdate,
  ): Promise<TrustedIssuer | undefined>
  find(issuerId: string): Promise<TrustedIssuer | undefined>
}

/** What becomes of the fetched keys of an issuer. The same object as before: nothing is written. */
export interface IssuerKeyUpdate {
  readonly next: FetchedKeys
  readonly isChange: boolean
}

/** The audit trail in the database. Changes are written by the stores that make them. */
export interface AuditLog {
  /** Writes a refusal. `outcome` is its reason. @param omission Given if it stands for dropped refusals. */
  refuse(entry: AuditEntry, outcome: string, omission?: Omission): Promise<void>
  /** Newest first. */
  list(filter: AuditFilter, page: Page<{ readonly at: Date; readonly eventId: string }>): Promise<readonly AuditEvent[]>
  /** Deletes events before a time, some at a time, and returns how many. */
  deleteBefore(at: Date): Promise<number>
}

/** The events after a position. */
export interface AuditBatch {
  readonly events: readonly PositionedEvent[]
  /** Where to go on: after the last event that was looked at, whether it matched or not. */
  readonly position: AuditPosition
  /** Whether this is everything that can be read now. */
  readonly isComplete: boolean
}

/**
 * Reads the audit trail in an order that no late commit precedes: what is read after a position is complete, so that a reader which goes on
 * from there misses nothing. It is the order of changes; dates may differ from it. Both methods throw {DomainError} `storage_unavailable`.
 */
export interface AuditReader {
  /** The position after all events that can be read now. A transaction that stays open on the server holds back later events. */
  latest(): Promise<AuditPosition>
  /**
   * Reads at most `limit` events that match. @param position Null: from the first event.
   *
   * @throws {DomainError} `audit_position_invalid`; `audit_position_unknown` if the database was restored to an earlier time.
   */
  readAfter(
    position: AuditPosition | null,
    options: { readonly filter: AuditFilter; readonly limit: number },
  ): Promise<AuditBatch>
}

/**
 * How far audit events were exported, and which replica exports: one at a time, for as long as its lease lasts. Each method throws
 * {DomainError} `storage_unavailable`.
 */
export interface AuditExports {
  /** Takes the lease, unless another holder has it. @returns Where to go on, null if nothing was exported yet; undefined without the lease. */
  acquire(holder: string, leaseMillis: number): Promise<{ readonly position: AuditPosition | null } | undefined>
  /** Stores how far the holder of the lease came, and renews the lease. @returns False if it has the lease no more: then nothing is stored. */
  advance(holder: string, position: AuditPosition, leaseMillis: number): Promise<boolean>
  /** Gives the lease back, if the holder has it. */
  release(holder: string): Promise<void>
}

/** Takes audit events to where they are watched. @returns Whether they have arrived. Never throws. */
export type ExportAuditEvents = (events: readonly AuditEvent[]) => Promise<boolean>

/** The credentials that expire soon, or are not used any more. Both methods throw {DomainError} `storage_unavailable`. */
export interface CredentialExpiries {
  /**
   * Writes an audit event for each credential that expires within 30 and within 7 days, once for each of both, whichever replica asks. One
   * that was made to live for less time than that is left out. @returns How many; not complete: there may be more.
   */
  announce(): Promise<{ readonly announced: number; readonly isComplete: boolean }>
  count(): Promise<CredentialCounts>
}

/** How many credentials of enabled users there are of each kind. */
export interface CredentialCounts {
  /** Those that expire soon: client secrets that were used in the last 30 days, and all others, of which the last use is not known. */
  readonly expiring: readonly { readonly kind: CredentialKind; readonly withinDays: number; readonly count: number }[]
  /** Client secrets that work and were not used for 90 days. */
  readonly unusedSecrets: number
}

/** A kind of credential that can expire. */
export type CredentialKind = 'client_secret' | 'user_key' | 'personal_access_token' | 'client_certificate'

/** What the use of credentials leaves in the database. It is no change of the instance. */
export interface CredentialUses {
  /** Notes when secrets were last used. Dates only move forward; unknown ids are left out. */
  recordSecretUses(uses: ReadonlyMap<string, Date>): Promise<void>
  /**
   * Marks the assertion of a client, or a DPoP proof, as used, in all replicas.
   *
   * @param id Stands for one assertion of one client, or one proof with one key, at most 200 characters.
   * @param expiresAt The mark may be deleted from then on.
   * @returns Whether this was its first use.
   */
  useAssertionOnce(id: string, expiresAt: Date): Promise<boolean>
}

/** The replicas in the database. No method makes a change of the instance. All throw {DomainError} `storage_unavailable`. */
export interface ReplicaStore {
  /** Writes that a replica runs, and forgets others that have been gone for long. */
  beat(heartbeat: Heartbeat): Promise<void>
  /** Forgets a replica that stops. */
  remove(replicaId: string): Promise<void>
  /** By their start, oldest first. */
  list(): Promise<SeenReplicas>
}

/** Who calls deprecated methods, in the database. No method makes a change of the instance. All throw {DomainError} `storage_unavailable`. */
export interface DeprecatedCallStore {
  /** Adds calls to those before, without those of users who do not exist. At most one for each user and method. */
  record(calls: readonly DeprecatedCalls[]): Promise<void>
  /** Newest first. */
  list(): Promise<readonly NamedDeprecatedCalls[]>
}

/** A reading of the database's clock, taken between two moments of a monotonic clock. */
export interface ClockReading {
  readonly databaseTime: Date
  /** The date of the newest change, which may be ahead of a clock that has gone back. Null: there has been none. */
  readonly latestChange: Date | null
  /** In milliseconds of `performance.now()`, like `notAfter`. */
  readonly notBefore: number
  readonly notAfter: number
}

/** The status by which a replica knows whether it is up to date. */
export interface InstanceStatus extends Revision {
  /** The issuer of all replicas; null if none has been stored yet. */
  readonly issuer: string | null
  readonly clock: ClockReading
  /** What is known of the replay of a hot standby; null: the database is a primary. */
  readonly standby: StandbyReading | null
}

/** How far a hot standby has replayed the changes of its primary, as far as that shows. */
export interface StandbyReading {
  /** The date of the newest heartbeat of a replica that has arrived, by the clock of the primary; null: none has. */
  readonly newestHeartbeat: Date | null
}

/** Everything that a replica serves from memory, as it was at one version. */
export interface InstanceState extends InstanceStatus {
  readonly ring: KeyRing
  /** The sealed private key of the active web key; null if none is active. */
  readonly sealedActiveKey: string | null
  readonly rotation: Rotation
  readonly trustedIssuers: readonly TrustedIssuer[]
  /** The users that were asked for and exist. */
  readonly users: ReadonlyMap<string, ServiceUser>
  /** For each subject that was asked for, in that order, the users whom it names, like `findFederatedUsers`. */
  readonly federatedUsers: readonly (readonly string[])[]
}

/** The identities to read with a state. */
export interface NeededIdentities {
  readonly userIds?: readonly string[]
  readonly subjects?: readonly FederatedSubject[]
}

/** Consistent reads of the instance. Every method throws {DomainError} `storage_unavailable` like `KeyStore`. */
export interface InstanceReader {
  /** At which change the instance is. */
  status(): Promise<InstanceStatus>
  /** Everything that a replica serves, with these users and subjects, all as of the same version. */
  load(needed?: NeededIdentities): Promise<InstanceState>
  /**
   * The same for a replica that has the instance as of `revision`.
   *
   * @param choose Which users and subjects to read again, by what has changed since. It may be called more than once.
   */
  loadSince(
    revision: Revision,
    choose: (changes: IdentityChanges) => NeededIdentities,
  ): Promise<InstanceState & { readonly changes: IdentityChanges }>
  /** One user, and the version at which it was so. */
  findServiceUser(userId: string): Promise<{ readonly version: number; readonly user: ServiceUser | undefined }>
  /** The ids of users who have a federated identity with this subject, two at most, and the version at which it was so. */
  findFederatedUsers(
    subject: FederatedSubject,
  ): Promise<{ readonly version: number; readonly userIds: readonly string[] }>
}

/** Announces changes of other replicas, sooner than polling versions would. It is only a hint, and may miss any of them. */
export interface ChangeFeed {
  /** Calls `onChange` after changes, and after every reconnect, until the returned function is called. */
  subscribe(onChange: () => void): () => Promise<void>
  /** Whether announcements would arrive now. `off`: nothing is announced, as by a standby, or nothing listens. */
  status(): 'connected' | 'disconnected' | 'off'
}

/** The first administrator of an empty instance. */
export interface FirstAdministrator {
  readonly kind: 'administrator'
  readonly userId: string
  readonly projectId: string
  readonly projectName: string
  readonly secretId: string
  readonly secretHash: Uint8Array
}

/** A configuration with an owner, which an empty instance begins with. */
export interface FirstConfiguration {
  readonly kind: 'configuration'
  readonly label: string
  readonly subject: ConfigurationSubject
  /** As for `ConfigurationStore.apply`. */
  readonly decide: (state: ConfiguredState, moment: ChangeMoment) => ConfigurationChange
}

/** What an instance begins with. */
export interface FirstContent {
  readonly owner: FirstAdministrator | FirstConfiguration
  readonly firstKey: SealedKeyPair
  readonly integrity: Pick<NewIntegrity, 'sealedIntegrityKey' | 'publicKeys'>
  readonly issuer: string
}

/** The issuer of the instance. Every method throws {DomainError} `storage_unavailable`, and `change` what `KeyStore.update` does. */
export interface IssuerStore {
  /** Null: none has been stored yet. */
  find(): Promise<string | null>
  /** Stores what `decide` returns as one step, like `KeyStore.update`, and returns it. */
  change(entry: ChangeEntry, decide: (stored: string | null) => string): Promise<string>
}

/** Fills an empty instance. */
export interface InstanceInitializer {
  /** Whether the instance has been initialised. @throws {DomainError} `storage_unavailable`, also on a standby if it has not. */
  isInitialised(): Promise<boolean>
  /**
   * Stores the issuer, the integrity key, one active web key, and a project with a service user with `IAM_OWNER` and one client secret, or
   * what a configuration has, in one transaction, unless the instance has them already.
   *
   * `beforeCommit` runs when everything is written and no other replica can initialise any more. It must not use the
   * database. If it throws, nothing is stored and the error passes through.
   *
   * @returns Whether this call initialised the instance.
   */
  initialise(content: FirstContent, beforeCommit: () => Promise<void>): Promise<boolean>
}

/** `high`: for a revocation or the rotation, which does not wait behind the keys that callers create. Default `normal`. */
export type KeyPairPriority = 'normal' | 'high'

/** Makes key pairs. */
export interface KeyPairGenerator {
  /**
   * Generates a key pair without blocking, and seals its private half.
   *
   * @throws {DomainError} `key_generation_busy` when too many of the same priority are being generated already.
   */
  generate(config: WebKeyConfig, priority?: KeyPairPriority): Promise<SealedKeyPair>
}

/** Signs with one private key. */
export interface Signer {
  readonly key: ActiveWebKey
  /** The JWS signature of the bytes, in the form of the key's algorithm (RFC 7515 §5.1). */
  sign(data: Uint8Array): Promise<Uint8Array>
}

/** Opens the private key of the active web key to sign with it. */
export interface SignerFactory {
  /**
   * @throws {Error} if no configured master key opens it, or it is not the private key of this web key. The message
   * says which, and nothing of the key.
   */
  open(key: ActiveWebKey, sealedPrivateKey: string): Promise<Signer>
}

/** Verifies access tokens that this service issued. */
export interface AccessTokenVerifier {
  /**
   * What a token says that one of the ring's keys signed, for the service itself, and that has not expired.
   *
   * @throws {DomainError} `token_invalid`; `token_key_unknown` if the token may be good, but by a key that is not in the ring.
   */
  verify(token: string, ring: KeyRing): Promise<VerifiedAccessToken>
}

/** Verifies access tokens that this service issued, for any audience. */
export interface IssuedTokenVerifier {
  /** Like `AccessTokenVerifier.verify`, but for a token that is meant for anyone. */
  verify(token: string, ring: KeyRing): Promise<IssuedAccessToken>
}

/** Verifies DPoP proofs. */
export interface DpopProofVerifier {
  /**
   * What a proof says whose signature is by the key in its header.
   *
   * @throws {DomainError} `dpop_proof_invalid`.
   */
  verify(proof: string, now: Date): Promise<DpopProof>
}

/** How an assertion names its issuer: by `iss` (RFC 7523), or by the trust domain of `sub` (draft-ietf-oauth-spiffe-client-auth). */
export type FederatedAssertionType = 'jwt-bearer' | 'jwt-spiffe'

/** A JWT, and what it is said to be. */
export interface FederatedAssertionContent {
  readonly jwt: string
  readonly type: FederatedAssertionType
}

/** What is known about a JWT of another issuer. `reason`: for the operator, never with a value from the JWT. */
export type FederatedVerification =
  | { readonly kind: 'verified'; readonly token: FederatedToken }
  | {
      readonly kind: 'refused'
      readonly reason: string
      /** The issuer, if the JWT may be by a key that it has and that has not been fetched yet. */
      readonly mayHaveNewKey?: string
    }

/** Verifies JWTs of trusted issuers: signature, dates and that there is one audience. Who they stand for is decided elsewhere. */
export interface FederatedTokenVerifier {
  verify(assertion: FederatedAssertionContent, issuers: readonly TrustedIssuer[]): Promise<FederatedVerification>
}

/** Verifies the certificates of clients. */
export interface ClientCertificateVerifier {
  /** Whether the operator trusts any authority. */
  readonly trustsAuthorities: boolean
  /** What is known about a certificate at a time. */
  verify(certificate: Extract<PresentedCertificate, { kind: 'presented' }>, now: Date): VerifiedCertificate
}

/** By what a token request was authenticated, and to what its token is bound. */
export interface GrantFacts {
  readonly credential: 'client_secret' | 'private_key_jwt' | 'federated_jwt' | 'client_certificate'
  readonly binding: 'none' | TokenBinding['kind']
}

/** The context of a request for its log line, its span and the metrics. `request` is the request object of the public listener. */
export interface RequestContext {
  /** The IP address of the client, also behind a trusted proxy; empty if it is not known. */
  addressOf(request: object): string
  /** The certificate of the client, also behind a trusted proxy, if the operator wants certificates to count. */
  certificateOf(request: object): PresentedCertificate
  /** An object that stands for its connection. */
  connectionOf(request: object): object
  /**
   * Who makes the request, proved or only claimed: the client ID at the token endpoint, the user id at the API. A text without
   * the form of one must not be given, because it could be a secret in the wrong field.
   */
  identified(request: object, clientId: string): void
  /** It gets a token. Without a call, it was a secret, and the token is bound to nothing. */
  granted(request: object, facts: GrantFacts): void
  /** Why it was refused: a word of a fixed list, such as an OAuth error code or the reason of an RPC error. */
  refused(request: object, reason: string): void
  /** What exactly was wrong, in words of the server's own. For the log only. */
  explained(request: object, detail: string): void
}

/** Whether a replica can serve, with warnings for its operator; if not, why. */
export type Readiness =
  | {
      readonly ready: true
      readonly warnings: readonly string[]
      /** Given if the database is a standby: how old what it has is at most. */
      readonly standby?: { readonly stalenessSeconds: number }
    }
  | { readonly ready: false; readonly reason: string }

/** The log of the operator. It must never get a secret. */
export interface Log {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}
