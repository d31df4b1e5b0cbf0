/**
 * The use cases of the credentials of service users, of all kinds.
 *
 * A secret is returned once, by the call that makes it, and stored nowhere: the store, the log and the audit trail get ids and
 * hashes. Secrets and key pairs are made before the store is locked.
 */

import { userResource } from '../../domain/audit-resources.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Actor, UserAuthority } from '../../domain/identities/authority.ts'
import { parseCertificateValue } from '../../domain/identities/client-certificate.ts'
import {
  addCredential,
  assertTokenLifetime,
  type ClientCertificate,
  type ClientSecret,
  type CredentialKind,
  type CredentialOf,
  credentialsOf,
  deactivateSecret,
  type FederatedIdentity,
  findCredential,
  partOf,
  removeCredential,
  type UserKey,
} from '../../domain/identities/credential.ts'
import { visibleUser } from '../../domain/identities/reach.ts'
import { existingUser, type ServiceUser } from '../../domain/identities/service-user.ts'
import type { InstanceSecrets } from '../../domain/integrity.ts'
import type { IdentityStore } from '../../domain/ports/identities.ts'
import type { ChangeMoment, Clock } from '../../domain/time.ts'
import { type RateLimit, TokenBuckets } from '../access/rate-limits.ts'
import type { Replica } from '../replica/replica.ts'

/**
 * Of a user's changes of itself, in each process. A rotation makes three. Each change takes the lock of the instance, and adds a version that
 * every replica reads and an event that the trail keeps.
 */
const SELF_SERVICE: RateLimit = { burst: 30, perSecond: 1 / 20 }

const MAX_USERS = 10_000

const SHOWN_ONCE: readonly CredentialKind[] = ['client_secret', 'personal_access_token']

export interface CredentialsOptions {
  readonly store: IdentityStore
  readonly replica: Pick<Replica, 'inForce' | 'refreshOrLog'>
  readonly secrets: Pick<InstanceSecrets, 'clientSecrets' | 'personalAccessTokens'>
  /** Reads a JWK or a JWK Set. @throws {DomainError} `user_key_invalid`. */
  readonly parseUserKeys: (json: string) => readonly UserKey['publicJwk'][]
  /** How long personal access tokens may live, in days. */
  readonly maxTokenLifetimeDays: number
  readonly newId: () => string
  readonly clock: Pick<Clock, 'monotonic'>
}

interface Made {
  readonly credentialId: string
  readonly createdAt: Date
}

/** A kind, and the credential of it that is changed; several have no name in common. */
interface Part {
  readonly kind: CredentialKind
  readonly credentialId?: string | undefined
  /** It is answered although this replica does not know it yet: no second answer could show it. */
  readonly isShownOnce?: boolean
}

export type Credentials = ReturnType<typeof createCredentials>

/**
 * Every method throws {DomainError} `user_not_found`, `storage_unavailable` and the codes of its rule in the domain; what changes something
 * also `self_service_limit_reached`, `change_outcome_unknown` and `change_not_in_force`.
 */
export function createCredentials(options: CredentialsOptions) {
  const { store, replica, secrets, parseUserKeys, maxTokenLifetimeDays: maxLifetimeDays, newId, clock } = options
  const selfService = new TokenBuckets({ ...SELF_SERVICE, clock, capacity: MAX_USERS })

  const change = async <T>(
    actor: Actor,
    userId: string,
    { kind, credentialId, isShownOnce = false }: Part,
    decide: (user: ServiceUser, moment: ChangeMoment) => { readonly next: ServiceUser; readonly result: T },
  ): Promise<T> => {
    if (isSelfService(actor.authority, userId) && !selfService.take(userId)) throw selfServiceLimitReached()
    const part = [partOf(kind), ...(credentialId === undefined ? [] : [credentialId])]
    const entry = { ...actor, resource: userResource(userId, ...part) }
    const stored = store.changeUser(userId, entry, (user, moment) => decide(existingUser(user, userId), moment))
    if (!isShownOnce) return replica.inForce(stored)
    const result = await stored
    await replica.refreshOrLog()
    return result
  }

  const add = <Kind extends CredentialKind>(
    actor: Actor,
    userId: string,
    kind: Kind,
    make: (made: Made, clock: Date) => CredentialOf<Kind>,
  ): Promise<{ readonly user: ServiceUser; readonly credential: CredentialOf<Kind> }> => {
    const credentialId = newId()
    const isShownOnce = SHOWN_ONCE.includes(kind)
    return change(actor, userId, { kind, credentialId, isShownOnce }, (user, { clock, date }) => {
      const credential = make({ credentialId, createdAt: date }, clock)
      return { next: addCredential(user, credential, clock), result: { user, credential } }
    })
  }

  return {
    /** The credentials of a kind, oldest first. */
    async list<Kind extends CredentialKind>(
      { authority }: Actor,
      userId: string,
      kind: Kind,
    ): Promise<readonly CredentialOf<Kind>[]> {
      const user = visibleUser(authority.reach, await store.findUser(userId))
      return credentialsOf(existingUser(user, userId), kind)
    },

    /** @param expiresAt Null: it works until it is deactivated or deleted. */
    async generateSecret(actor: Actor, userId: string, expiresAt: Date | null) {
      const { secret: plain, hash } = secrets.clientSecrets.generate()
      const kind = 'client_secret'
      const ends = { expiresAt, deactivatedAt: null, lastUsedAt: null }
      return { plain, ...(await add(actor, userId, kind, (made) => ({ ...made, kind, hash, ...ends }))) }
    },

    /** Deactivating a deactivated secret changes nothing. */
    deactivateSecret(actor: Actor, userId: string, credentialId: string): Promise<ClientSecret> {
      const kind = 'client_secret'
      return change(actor, userId, { kind, credentialId }, (user, { date }) => {
        const next = deactivateSecret(user, credentialId, date)
        return { next, result: findCredential(next, kind, credentialId) }
      })
    },

    async createToken(actor: Actor, userId: string, expiresAt: Date) {
      const { secret: plain, hash } = secrets.personalAccessTokens.generate()
      const kind = 'personal_access_token'
      const added = await add(actor, userId, kind, (made, clock) => {
        assertTokenLifetime(expiresAt, { clock, maxLifetimeDays })
        return { ...made, kind, hash, expiresAt }
      })
      return { plain, ...added }
    },

    /**
     * Adds the key of a JWK, or all keys of a JWK Set.
     * @param expiresAt Null: they work until they are removed.
     * @throws {DomainError} also `user_key_invalid`.
     */
    async addKeys(
      actor: Actor,
      userId: string,
      { json, expiresAt }: { readonly json: string; readonly expiresAt: Date | null },
    ): Promise<readonly UserKey[]> {
      const kind = 'user_key'
      const parsed = parseUserKeys(json).map(
        (publicJwk) => ({ kind, credentialId: newId(), publicJwk, expiresAt }) as const,
      )
      const credentialId = parsed.length === 1 ? parsed[0]?.credentialId : undefined
      return change(actor, userId, { kind, credentialId }, (user, { clock, date }) => {
        const keys = parsed.map((key) => ({ ...key, createdAt: date }))
        return { next: keys.reduce((next, key) => addCredential(next, key, clock), user), result: keys }
      })
    },

    /** @throws {DomainError} also `client_certificate_invalid`. */
    async addCertificate(
      actor: Actor,
      userId: string,
      { match, value: text, expiresAt }: Pick<ClientCertificate, 'match' | 'value' | 'expiresAt'>,
    ): Promise<ClientCertificate> {
      const value = parseCertificateValue(match, text)
      const kind = 'client_certificate'
      return (await add(actor, userId, kind, (made) => ({ ...made, kind, match, value, expiresAt }))).credential
    },

    /** @throws {DomainError} also `trusted_issuer_not_found`. */
    async addIdentity(
      actor: Actor,
      userId: string,
      facts: Pick<FederatedIdentity, 'issuerId' | 'subject' | 'audience' | 'claims'>,
    ): Promise<FederatedIdentity> {
      const kind = 'federated_identity'
      return (await add(actor, userId, kind, (made) => ({ ...made, kind, ...facts, expiresAt: null }))).credential
    },

    remove: (actor: Actor, userId: string, kind: CredentialKind, credentialId: string): Promise<void> =>
      change(actor, userId, { kind, credentialId }, (user) => ({
        next: removeCredential(user, kind, credentialId),
        result: undefined,
      })),
  }
}

/** Whether a user changes itself without a right over the whole instance. */
function isSelfService({ reach, userId: caller }: UserAuthority, userId: string): boolean {
  return reach.kind === 'limited' && caller === userId
}

function selfServiceLimitReached(): DomainError {
  return new DomainError(
    'self_service_limit_reached',
    'you have changed your own secrets too often: try again later, or let an administrator do it',
    { metadata: { retry_after_seconds: String(Math.ceil(1 / SELF_SERVICE.perSecond)) } },
  )
}
