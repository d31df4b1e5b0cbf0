/**
 * Proves a service user by the JWT of a trusted issuer. From memory if the user has an identity that fits; before a denial, issuers and
 * user are brought up to date, because another replica may have changed them a moment ago (decision 12).
 */
import type { IncomingMessage } from 'node:http'
import type { TrustedIssuer } from '../../domain/federation/trusted-issuer.ts'
import { formatClientId } from '../../domain/identities/client-id.ts'
import { type FederatedSubject, type FederatedToken, identityOf } from '../../domain/identities/federated-identity.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { FederatedTokenVerifier, FederatedVerification } from '../../domain/ports/federation.ts'
import type { RequestContext } from '../../domain/ports/runtime.ts'
import type { ClaimedUser } from '../client-authentication/claimed-user.ts'
import type { ClientDirectory } from '../client-authentication/client-authentication.ts'
import type { FederatedAssertion } from '../client-authentication/presented-credential.ts'

/** What is known of other issuers. */
export interface Federation extends FederatedTokenVerifier {
  /** As this replica knows them. */
  trustedIssuers(): readonly TrustedIssuer[]
  /** Brings them up to date. @throws {DomainError} `storage_unavailable`. */
  confirm(): Promise<void>
  /** The ids of the users whom a subject names, from memory. Undefined: they are not in memory. */
  recallUsers(subject: FederatedSubject): readonly string[] | undefined
  /** The same as the database has them now. @throws {DomainError} `storage_unavailable`. */
  readUsers(subject: FederatedSubject): Promise<readonly string[]>
}

/** What a proof needs. */
export interface FederatedProofOptions {
  /** The issuer of this service, which is the audience of identities that name none. */
  readonly issuer: string
  readonly federation: Federation
  readonly contexts: Pick<RequestContext, 'explained'>
}

const UNFIT =
  'the user has no federated identity that fits the JWT; without client_id, issuer and subject must name one user'

/** The JWT of one request, which is verified once. */
export class FederatedProof {
  readonly #req: IncomingMessage
  readonly #assertion: FederatedAssertion
  readonly #options: FederatedProofOptions
  readonly #verification: Promise<FederatedVerification>

  constructor(req: IncomingMessage, assertion: FederatedAssertion, options: FederatedProofOptions) {
    this.#req = req
    this.#assertion = assertion
    this.#options = options
    this.#verification = verify(assertion, options.federation)
    // It is awaited later, or not at all.
    this.#verification.catch(() => {})
  }

  /**
   * The client id of the one user whom issuer and subject of the JWT name; undefined if they name none, or several.
   *
   * @throws {DomainError} `storage_unavailable`.
   */
  async clientId(
    directory: Pick<ClientDirectory, 'recallServiceUser' | 'readServiceUser'>,
  ): Promise<string | undefined> {
    const verified = await this.#verification
    if (verified.kind === 'refused') return undefined
    const { token } = verified
    const { spiffeId = token.subject } = this.#assertion
    if (spiffeId !== token.subject) return undefined
    const { federation, issuer } = this.#options
    const known = federation.recallUsers(token)
    const user = known?.length === 1 ? directory.recallServiceUser(known[0] ?? '') : undefined
    if (user !== undefined && identityOf(user, token, issuer) !== undefined) return formatClientId(user)
    const [userId, ...others] = await federation.readUsers(token)
    if (userId === undefined || others.length > 0) return undefined
    const found = directory.recallServiceUser(userId) ?? (await directory.readServiceUser(userId))
    return found === undefined ? undefined : formatClientId(found)
  }

  /**
   * Whether the JWT proves the user, who has the proof then. The log gets the reason if not.
   *
   * @throws {DomainError} `storage_unavailable` if it would be denied and the newest state is not known.
   */
  async proves(claimed: ClaimedUser): Promise<boolean> {
    const verified = await this.#verification
    if (verified.kind === 'refused') return this.#refuse(verified.reason)
    const { token } = verified
    if (this.#identify(claimed, token)) return true
    // Like the denial of a JWT that is not believed, and so in the same time: that would tell which issuers are trusted.
    await Promise.all([claimed.confirm(), this.#options.federation.confirm()])
    return this.#identify(claimed, token) || this.#refuse(UNFIT)
  }

  #identify(claimed: ClaimedUser, token: FederatedToken): boolean {
    const { user } = claimed
    const identity = isEnabled(user) ? identityOf(user, token, this.#options.issuer) : undefined
    if (identity !== undefined) claimed.proof = { kind: 'federated_jwt', credentialIds: [identity.credentialId] }
    return identity !== undefined
  }

  #refuse(reason: string): false {
    this.#options.contexts.explained(this.#req, reason)
    return false
  }
}

async function verify(assertion: FederatedAssertion, federation: Federation): Promise<FederatedVerification> {
  const known = federation.trustedIssuers()
  const verified = await federation.verify(assertion, known)
  if (verified.kind === 'verified') return verified
  await federation.confirm()
  const confirmed = federation.trustedIssuers()
  return confirmed === known ? verified : await federation.verify(assertion, confirmed)
}

function isEnabled(user: ServiceUser | undefined): user is ServiceUser {
  return user?.enabled === true
}
