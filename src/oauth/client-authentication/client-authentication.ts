/**
 * Finds the service user of a request, and proves it by a secret, the JWT of another issuer or a client certificate. A client's own
 * assertion is left to oidc-provider. Known and unknown users take the same steps and the same time.
 */
import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { errors } from 'oidc-provider'
import type { Attempt, AttemptLimiter } from '../../app/access/attempt-limiter.ts'
import { provedCertificate } from '../../domain/identities/client-certificate.ts'
import { splitClientId } from '../../domain/identities/client-id.ts'
import { type ClientSecret, liveCredentials } from '../../domain/identities/credential.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { Secrets } from '../../domain/integrity.ts'
import type { RequestContext } from '../../domain/ports/runtime.ts'
import type { ClientCertificateVerifier } from '../../domain/ports/verification.ts'
import { FederatedProof, type Federation } from '../federation/federated-proof.ts'
import { tooManyFailures } from '../requests/answers.ts'
import { ClaimedUser } from './claimed-user.ts'
import type { PresentedCredential } from './presented-credential.ts'

/** Finds service users and compares their secrets. */
export interface ClientDirectory {
  /** A service user from memory. Undefined: it is not in memory, but may exist. */
  recallServiceUser(userId: string): ServiceUser | undefined
  /** A service user as the database has it now. @throws {DomainError} `storage_unavailable`. */
  readServiceUser(userId: string): Promise<ServiceUser | undefined>
  readonly secrets: Secrets
}

/** What authenticating clients needs. */
export interface ClientAuthenticationOptions {
  /** The issuer of this service, which is the audience of federated identities that name none. */
  readonly issuer: string
  readonly directory: ClientDirectory
  /** The trusted issuers, and what verifies their JWTs. */
  readonly federation: Federation
  /** Undefined: certificates of clients do not count (RFC 8705). */
  readonly certificates?: ClientCertificateVerifier
  /** The rate limit of failed authentications. */
  readonly attempts: AttemptLimiter
  /** The time at which credentials must be live. */
  readonly now: () => Date
  readonly contexts: RequestContext
}

/** A client that has been found. */
export interface FoundClient {
  readonly clientId: string
  readonly claimed: ClaimedUser
  readonly attempt: Attempt
  /** Of a client with the JWT of another issuer. */
  readonly federated?: FederatedProof
}

/** @throws {Refusal} 429 before any work is done; {DomainError} `storage_unavailable`. */
export async function findClient(
  req: IncomingMessage,
  presented: PresentedCredential,
  options: ClientAuthenticationOptions,
): Promise<FoundClient> {
  const { attempts, contexts } = options
  if (presented.clientId !== undefined) identify(req, presented.clientId, contexts)
  const name = presented.kind === 'federated' ? hash('sha256', presented.assertion.jwt, 'base64url') : ''
  const attempt = { name: presented.clientId ?? name, address: contexts.addressOf(req) }
  const seconds = attempts.blockedForSeconds(attempt)
  if (seconds > 0) throw tooManyFailures(seconds)
  if (presented.kind !== 'federated')
    return { clientId: presented.clientId, attempt, claimed: await findUser(presented.clientId, attempt, options) }

  const federated = new FederatedProof(req, presented.assertion, options)
  // Without a client id, the assertion decides who the client is.
  const clientId = presented.clientId ?? (await federated.clientId(options.directory)) ?? ''
  identify(req, clientId, contexts)
  return { clientId, attempt, claimed: await findUser(clientId, attempt, options), federated }
}

/** Proves a client by what it has presented, other than a key. @throws `invalid_client`; {DomainError} `storage_unavailable`. */
export async function proveClient(
  req: IncomingMessage,
  { claimed, federated }: FoundClient,
  { presented, options }: { readonly presented: PresentedCredential; readonly options: ClientAuthenticationOptions },
): Promise<void> {
  if (federated !== undefined) {
    if (await federated.proves(claimed)) return
    throw new errors.InvalidClientAuth('the JWT does not prove the user')
  }
  const prove = (): boolean =>
    presented.kind === 'secret'
      ? proveSecret(claimed, presented.secret, options)
      : presented.kind === 'certificate' && proveCertificate(req, claimed, options)
  if (prove()) return
  if (!claimed.isConfirmed) {
    // Another replica may have changed the user a moment ago.
    await claimed.confirm()
    if (prove()) return
  }
  throw new errors.InvalidClientAuth('the credential is wrong')
}

function identify(req: IncomingMessage, clientId: string, contexts: RequestContext): void {
  if (splitClientId(clientId) !== undefined) contexts.identified(req, clientId)
}

async function findUser(
  clientId: string,
  attempt: Attempt,
  { directory, attempts }: ClientAuthenticationOptions,
): Promise<ClaimedUser> {
  const parts = splitClientId(clientId)
  if (parts === undefined) return new ClaimedUser('', undefined, null)
  const { userId, projectName } = parts
  const inMemory = directory.recallServiceUser(userId)
  const claimed = new ClaimedUser(projectName, inMemory, async () => {
    try {
      return await directory.readServiceUser(userId)
    } catch (error) {
      // An attempt that fails for lack of the database counts, so that an outage allows no guessing.
      attempts.leaveOpen(attempt)
      throw error
    }
  })
  if (inMemory === undefined) await claimed.confirm()
  return claimed
}

function proveSecret(
  claimed: ClaimedUser,
  secret: string,
  { directory, now }: Pick<ClientAuthenticationOptions, 'directory' | 'now'>,
): boolean {
  const verified = verifySecret(directory.secrets, claimed.user, { secret, now: now() })
  if (verified !== undefined) claimed.proof = { kind: 'client_secret', credentialIds: [verified.credentialId] }
  return verified !== undefined
}

/**
 * Returns the live secret that matches, if the user is enabled.
 *
 * @param user Undefined if there is none, which takes the same time as a wrong secret.
 */
function verifySecret(
  secrets: Pick<Secrets, 'matches'>,
  user: ServiceUser | undefined,
  { secret, now }: { readonly secret: string; readonly now: Date },
): ClientSecret | undefined {
  const live = user === undefined ? [] : liveCredentials(user, 'client_secret', now)
  const matches = secrets.matches(
    secret,
    live.map(({ hash }) => hash),
  )
  if (!matches || user?.enabled !== true) return undefined
  // Not in constant time, but for a right secret only.
  return live.length === 1 ? live[0] : live.find(({ hash }) => secrets.matches(secret, [hash]))
}

/** The certificate is verified for every user, known or not. The log gets the reason if it proves nothing. */
function proveCertificate(
  req: IncomingMessage,
  claimed: ClaimedUser,
  { certificates, now, contexts }: Pick<ClientAuthenticationOptions, 'certificates' | 'now' | 'contexts'>,
): boolean {
  const presented = contexts.certificateOf(req)
  if (certificates === undefined || presented.kind !== 'presented') {
    const reason = presented.kind === 'unreadable' ? presented.reason : 'there is none'
    contexts.explained(req, `the client certificate: ${reason}`)
    return false
  }
  const { user } = claimed
  const verified = certificates.verify(presented, now())
  const found = user?.enabled === true ? provedCertificate(user, verified, now()) : undefined
  if (found !== undefined) claimed.proof = { kind: 'client_certificate', credentialIds: [found.credentialId] }
  else contexts.explained(req, `the client certificate: ${verified.problem ?? 'the user has none that fits'}`)
  return found !== undefined
}
