/**
 * Finds the service user of a request, and proves it by a secret, the JWT of another issuer or a client certificate. A client's own
 * assertion is left to oidc-provider. Known and unknown users take the same steps and the same time.
 */
import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { errors } from 'oidc-provider'
import type { Attempt, AttemptLimiter } from '../../app/access/attempt-limiter.ts'
import type { LiveIdentities } from '../../app/identities/live-identities.ts'
import type { Replica } from '../../app/replica/replica.ts'
import { provedCertificate } from '../../domain/identities/client-certificate.ts'
import { formatClientId, splitClientId } from '../../domain/identities/client-id.ts'
import { liveCredentials } from '../../domain/identities/credential.ts'
import { type FederatedToken, identityOf } from '../../domain/identities/federated-identity.ts'
import type { Secrets } from '../../domain/integrity.ts'
import type { FederatedTokenVerifier, FederatedVerification } from '../../domain/ports/federation.ts'
import type { RequestContext } from '../../domain/ports/runtime.ts'
import type { ClientCertificateVerifier } from '../../domain/ports/verification.ts'
import { tooManyFailures } from '../requests/answers.ts'
import { ClaimedUser } from './claimed-user.ts'
import type { FederatedAssertion, PresentedCredential } from './presented-credential.ts'

type KnownState = Pick<Replica, 'trustedIssuers' | 'confirm'> & {
  readonly identities: Pick<LiveIdentities, 'recall' | 'read' | 'recallSubject' | 'readSubject'>
}

export interface ClientAuthenticationOptions {
  /** The issuer of this service, which is the audience of federated identities that name none. */
  readonly issuer: string
  readonly replica: KnownState
  readonly clientSecrets: Secrets
  readonly federation: FederatedTokenVerifier
  /** Undefined: certificates of clients do not count (RFC 8705). */
  readonly certificates?: ClientCertificateVerifier
  readonly attempts: AttemptLimiter
  readonly now: () => Date
  readonly contexts: RequestContext
}

export interface FoundClient {
  readonly clientId: string
  readonly claimed: ClaimedUser
  readonly attempt: Attempt
  readonly verified?: FederatedVerification
}

const UNFIT =
  'the user has no federated identity that fits the JWT; without client_id, issuer and subject must name one user'

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

  const verified = await verifyFederated(presented.assertion, options)
  if (verified.kind === 'refused') contexts.explained(req, verified.reason)
  // Without a client id, the assertion decides who the client is.
  const clientId = presented.clientId ?? (await clientNamedBy(verified, presented.assertion, options)) ?? ''
  identify(req, clientId, contexts)
  return { clientId, attempt, claimed: await findUser(clientId, attempt, options), verified }
}

/** Proves a client by what it has presented, other than a key. @throws `invalid_client`; {DomainError} `storage_unavailable`. */
export async function proveClient(
  req: IncomingMessage,
  { claimed, verified }: FoundClient,
  { presented, options }: { readonly presented: PresentedCredential; readonly options: ClientAuthenticationOptions },
): Promise<void> {
  const prove = (): boolean => {
    if (presented.kind === 'secret') return proveSecret(claimed, presented.secret, options)
    if (presented.kind === 'certificate') return proveCertificate(req, claimed, options)
    return verified?.kind === 'verified' && proveFederated(claimed, verified.token, options.issuer)
  }
  if (prove()) return
  // Another replica may have changed the user a moment ago.
  if (verified?.kind === 'verified') {
    // Like the denial of a JWT that is not believed, and so in the same time: that would tell which issuers are trusted.
    await Promise.all([claimed.confirm(), options.replica.confirm()])
    if (prove()) return
    options.contexts.explained(req, UNFIT)
  } else if (!claimed.isConfirmed) {
    await claimed.confirm()
    if (prove()) return
  }
  throw new errors.InvalidClientAuth('the credential is wrong')
}

/** A JWT is refused by the issuers as they are stored, because another replica may have changed them a moment ago (decision 12). */
async function verifyFederated(
  assertion: FederatedAssertion,
  { federation, replica }: ClientAuthenticationOptions,
): Promise<FederatedVerification> {
  const known = replica.trustedIssuers()
  const verified = await federation.verify(assertion, known)
  if (verified.kind === 'verified') return verified
  await replica.confirm()
  const confirmed = replica.trustedIssuers()
  return confirmed === known ? verified : await federation.verify(assertion, confirmed)
}

/** The client id of the one user whom issuer and subject of a JWT name; undefined if they name none, or several. */
async function clientNamedBy(
  verified: FederatedVerification,
  { spiffeId }: FederatedAssertion,
  { replica: { identities }, issuer }: ClientAuthenticationOptions,
): Promise<string | undefined> {
  if (verified.kind === 'refused') return undefined
  const { token } = verified
  if (spiffeId !== undefined && spiffeId !== token.subject) return undefined
  const known = identities.recallSubject(token)
  const user = known?.length === 1 ? identities.recall(known[0] ?? '') : undefined
  if (user !== undefined && identityOf(user, token, issuer) !== undefined) return formatClientId(user)
  const [userId, ...others] = await identities.readSubject(token)
  if (userId === undefined || others.length > 0) return undefined
  const found = identities.recall(userId) ?? (await identities.read(userId))
  return found === undefined ? undefined : formatClientId(found)
}

function identify(req: IncomingMessage, clientId: string, contexts: RequestContext): void {
  if (splitClientId(clientId) !== undefined) contexts.identified(req, clientId)
}

async function findUser(
  clientId: string,
  attempt: Attempt,
  { replica: { identities }, attempts }: ClientAuthenticationOptions,
): Promise<ClaimedUser> {
  const parts = splitClientId(clientId)
  if (parts === undefined) return new ClaimedUser('', undefined, null)
  const { userId, projectName } = parts
  const inMemory = identities.recall(userId)
  const claimed = new ClaimedUser(projectName, inMemory, async () => {
    try {
      return await identities.read(userId)
    } catch (error) {
      // An attempt that fails for lack of the database counts, so that an outage allows no guessing.
      attempts.failName(attempt)
      throw error
    }
  })
  if (inMemory === undefined) await claimed.confirm()
  return claimed
}

/** A user that is not there takes the same time as a wrong secret. */
function proveSecret(
  claimed: ClaimedUser,
  secret: string,
  { clientSecrets: secrets, now }: Pick<ClientAuthenticationOptions, 'clientSecrets' | 'now'>,
): boolean {
  const { user } = claimed
  const live = user === undefined ? [] : liveCredentials(user, 'client_secret', now())
  const matches = secrets.matches(
    secret,
    live.map(({ hash }) => hash),
  )
  if (!matches || user?.enabled !== true) return false
  // Not in constant time, but for a right secret only.
  const right = live.length === 1 ? live[0] : live.find(({ hash }) => secrets.matches(secret, [hash]))
  if (right !== undefined) claimed.proof = { kind: 'client_secret', credentialIds: [right.credentialId] }
  return right !== undefined
}

function proveFederated(claimed: ClaimedUser, token: FederatedToken, issuer: string): boolean {
  const { user } = claimed
  const identity = user?.enabled === true ? identityOf(user, token, issuer) : undefined
  if (identity !== undefined) claimed.proof = { kind: 'federated_jwt', credentialIds: [identity.credentialId] }
  return identity !== undefined
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
