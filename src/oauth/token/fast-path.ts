/**
 * The fast path of the token endpoint: grants the plain requests of nearly all clients without oidc-provider, which would take most
 * of a request's time.
 *
 * It refuses nothing, except with 503 while the database cannot be reached. A request that is not recognised or not granted goes to
 * oidc-provider unchanged. Secrets, grants and claims are decided by the same functions on both paths.
 */
import type { IncomingMessage } from 'node:http'
import { splitClientId } from '../../domain/identities/client-id.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import { decideTokenGrant, type GrantedToken } from '../../domain/identities/token-grant.ts'
import type { Signer } from '../../domain/ports/keys.ts'
import { auditFailure } from '../client-authentication/audit-failure.ts'
import { readClaimedUser, rememberLookup } from '../client-authentication/claimed-user.ts'
import { startAuthentication } from '../client-authentication/constant-time-refusal.ts'
import { verifySecret } from '../client-authentication/secret-verification.ts'
import { isUnavailable } from '../errors.ts'
import type { ProviderOptions } from '../provider.ts'
import { createAccessTokenSigner, grantedClaims, lifetimeOf } from './access-token-signer.ts'
import { hasSmallForm, takeForm } from './form-body.ts'
import { type PlainRequest, readPlainRequest } from './plain-request.ts'
import { usesCertificate } from './sender-constraint.ts'

/** A plain request, and the user that it claims to be from. */
interface Recognised extends PlainRequest {
  readonly userId: string
  readonly projectName: string
}

/** A request that gets a token. */
export interface Granted {
  readonly clientId: string
  readonly secretId: string
  readonly grant: GrantedToken
}

/** Decides a request. Undefined: oidc-provider must answer it. `unavailable`: the user cannot be read from the database. */
export type FastPath = (req: IncomingMessage) => Promise<Granted | undefined | 'client_left' | 'unavailable'>

/** Makes the fast path. */
export function createFastPath(options: ProviderOptions): FastPath {
  return (req) => (hasSmallForm(req) ? takeForm(req, (form) => decide(req, form, options)) : NOT_RECOGNISED)
}

const NOT_RECOGNISED = Promise.resolve(undefined)

/** Issues tokens that one key signs. @returns The body of the response (RFC 6749 §5.1). */
export function createTokenIssuer(
  signer: Signer,
  { issuer, tokenLifetimeSeconds, now, secretUses }: ProviderOptions,
): (granted: Granted) => Promise<string> {
  const sign = createAccessTokenSigner(signer)
  return async ({ clientId, secretId, grant }) => {
    const lifetimeSeconds = lifetimeOf(grant, tokenLifetimeSeconds)
    const claims = grantedClaims(grant, { now: now(), lifetimeSeconds })
    const token = await sign(grant, { ...claims, client_id: clientId, iss: issuer })
    secretUses.note(secretId, now())
    // No character of a token needs an escape, which `JSON.stringify` would look for.
    const members = JSON.stringify({ expires_in: lifetimeSeconds, scope: claims.scope, token_type: 'Bearer' })
    return `{"access_token":"${token}",${members.slice(1)}`
  }
}

/** Synchronous for a user in memory. */
function decide(
  req: IncomingMessage,
  form: string,
  options: ProviderOptions,
): Granted | undefined | ReturnType<typeof decideByDatabase> {
  const request = recognise(req, form, options)
  if (request === undefined) return undefined
  startAuthentication(req)
  options.contexts.identified(req, request.clientId)
  const user = options.directory.recallServiceUser(request.userId)
  if (user !== undefined && usesCertificate(req, user, options.contexts)) return undefined
  const granted = user === undefined ? undefined : grant(user, request, options)
  // Another replica may have changed the user a moment ago.
  return granted ?? decideByDatabase(req, request, options)
}

function recognise(
  req: IncomingMessage,
  form: string,
  { attempts, contexts }: ProviderOptions,
): Recognised | undefined {
  const request = readPlainRequest(req.headers, form)
  const claimed = request === undefined ? undefined : splitClientId(request.clientId)
  if (request === undefined || claimed === undefined) return undefined
  const { clientId, secret, scope } = request
  if (attempts.blockedForSeconds({ name: clientId, address: contexts.addressOf(req) }) > 0) return undefined
  return { clientId, secret, scope, userId: claimed.userId, projectName: claimed.projectName }
}

async function decideByDatabase(
  req: IncomingMessage,
  request: Recognised,
  options: ProviderOptions,
): Promise<Granted | undefined | 'client_left' | 'unavailable'> {
  const { directory, attempts, contexts, now } = options
  const { userId, clientId, secret } = request
  let user: ServiceUser | undefined
  try {
    user = await readClaimedUser(req, request, options)
  } catch (error) {
    if (isUnavailable(error)) return 'unavailable'
    throw error
  }
  const isPlain = user === undefined || !usesCertificate(req, user, options.contexts)
  const granted = isPlain ? grant(user, request, options) : undefined
  if (granted !== undefined) return granted
  rememberLookup(req, { userId, user })
  if (req.readable) return undefined
  // The client has left, so oidc-provider could not read the form and count the failure.
  if (verifySecret(directory.secrets, user, { secret, now: now() }) === undefined) {
    attempts.fail({ name: clientId, address: contexts.addressOf(req) })
    if (user !== undefined) auditFailure(req, userId, options)
  }
  return 'client_left'
}

function grant(
  user: ServiceUser | undefined,
  { clientId, secret, scope, projectName }: Recognised,
  { issuer, now, directory, acceptsZitadelScopes }: ProviderOptions,
): Granted | undefined {
  // In constant time: also without a user.
  const verified = verifySecret(directory.secrets, user, { secret, now: now() })
  if (user === undefined || verified === undefined) return undefined
  const request = { projectName, scope, isBound: false, serviceAudience: issuer, acceptsZitadelScopes }
  const granted = decideTokenGrant(user, request)
  if (granted.kind === 'denied') return undefined
  return { clientId, secretId: verified.secretId, grant: granted }
}
