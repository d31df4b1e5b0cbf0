/**
 * What makes a client assertion good (`private_key_jwt`, RFC 7523 §3), beyond what the engine checks itself: signature,
 * algorithm, and that the claims are there. And what a client is told that is refused.
 *
 * Stricter than the RFC where that closes a gap: the audience is the issuer alone, unless it is configured otherwise, so that
 * an assertion for another server, or for several, is never good here; it lives for an hour at most; and it is used once on
 * all replicas.
 */
import { createHash } from 'node:crypto'
import { type Client, errors, type Provider } from 'oidc-provider'
import { isCompactJws } from '../../domain/compact-jws.ts'
import type { CredentialUses, RequestContext } from '../../domain/ports.ts'
import { OAUTH_PATHS } from '../endpoints.ts'
import { toUnavailable } from '../errors.ts'

/** Algorithms that assertions may be signed with: all asymmetric ones that keys of users can have. */
export const ASSERTION_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  // The same as EdDSA here; what newer libraries call it (RFC 9864).
  'Ed25519',
] as const

/** How far the clock of a client may be off, in seconds. */
const CLOCK_TOLERANCE_SECONDS = 60

/**
 * The engine looks at the clock of this machine and cannot be given another one. So it is told to tolerate anything, ten
 * years, and the dates are looked at here.
 */
export const ENGINE_TOLERANCE_SECONDS = 10 * 365 * 86_400

/** What `typ` may say, in lower case; it may also be missing (RFC 7523 has no type of its own, its update has the second). */
const TYPES: readonly unknown[] = ['jwt', 'client-authentication+jwt', undefined]

const MAX_LIFETIME_SECONDS = 3600
const MAX_ID_LENGTH = 200

/**
 * Which audience makes an assertion good: the issuer alone (FAPI 2.0 Security Profile §5.3.2.1), or the address of the token
 * endpoint as well (RFC 7523 §3), which many libraries still put there.
 */
export type AssertionAudience = 'issuer' | 'endpoint'

/** What the audience is judged by. */
export interface AudienceRules {
  readonly issuer: string
  readonly assertionAudience: AssertionAudience
}

/** Says what is wrong with an assertion whose signature is good. The client is told the detail. */
class AssertionProblem extends errors.InvalidClientAuth {}

/**
 * Checks the form and the header of an assertion whose signature is good. @throws `invalid_client`.
 *
 * A JWT of another type is no assertion, even one with all the claims of one (RFC 8725 §3.11); a JWT is always encoded (RFC
 * 7797 §7), and no extension is understood here (RFC 7515 §4.1.11).
 */
export function assertAssertionHeader(assertion: unknown, { typ, crit, b64 }: Readonly<Record<string, unknown>>): void {
  if (typeof assertion !== 'string' || !isCompactJws(assertion))
    refuse('the assertion must be base64url without padding')
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ
  if (!TYPES.includes(type)) refuse('typ must be JWT or client-authentication+jwt, or missing')
  if (crit !== undefined || b64 !== undefined) refuse('crit and b64 must not be there')
}

/**
 * Checks the claims of an assertion whose signature is good. The audience may be a list of one. @throws `invalid_client`.
 */
export function assertAssertionClaims(
  claims: Readonly<Record<string, unknown>>,
  { now, ...rules }: AudienceRules & { readonly now: Date },
): void {
  const { aud, exp, iat, nbf, jti } = claims
  const seconds = now.getTime() / 1000
  const soon = seconds + CLOCK_TOLERANCE_SECONDS
  const audience: unknown = Array.isArray(aud) && aud.length === 1 ? aud[0] : aud
  if (!audiencesOf(rules).includes(audience)) refuse(wrongAudience(rules))
  if (!isBefore(exp, soon + MAX_LIFETIME_SECONDS)) refuse(`exp must be at most ${MAX_LIFETIME_SECONDS} seconds away`)
  if (isBefore(exp, seconds - CLOCK_TOLERANCE_SECONDS)) refuse(PAST)
  if (iat !== undefined && !isBefore(iat, soon)) refuse('iat must not lie in the future')
  if (nbf !== undefined && !isBefore(nbf, soon)) refuse(EARLY)
  if (typeof jti !== 'string' || jti.length > MAX_ID_LENGTH) refuse(BAD_ID)
}

const PAST = 'exp must lie in the future'
const EARLY = 'nbf must not lie in the future'
const BAD_ID = `jti must be a text of 1 to ${MAX_ID_LENGTH} characters`
const OTHER_ISSUER = 'iss must be the client_id'

/** What a client is told for what the engine says about a claim that it checks itself. */
type Wordings = Readonly<Record<string, string | ((rules: AudienceRules) => string)>>

/** Before the signature: what an assertion lacks, whomever it names. No key and no user has a part in it. */
const BEFORE_SIGNATURE: Wordings = {
  'sub (JWT subject) must be provided in the client_assertion JWT': 'sub must be the client_id',
  'expiration must be specified in the client_assertion JWT': 'exp must be there',
  'unique jti (JWT ID) must be provided in the client_assertion JWT': BAD_ID,
  'iss (JWT issuer) must be provided in the client_assertion JWT': OTHER_ISSUER,
  'iss (JWT issuer) must be the client_id': OTHER_ISSUER,
  'aud (JWT audience) must be provided in the client_assertion JWT': wrongAudience,
  'list of audience (aud) must include the endpoint url, issuer identifier or token endpoint url': wrongAudience,
}

/** Behind the signature, and before it is looked at whether the user may assert. */
const BEHIND_SIGNATURE: Wordings = {
  'invalid aud value': wrongAudience,
  'invalid exp value': 'exp must be a number',
  'jwt expired': PAST,
  'invalid iat value': 'iat must be a number',
  'invalid nbf value': 'nbf must be a number',
  'jwt not active yet': EARLY,
  'invalid jti value': BAD_ID,
  'client assertion tokens must only be used once': 'jti must not have been used before',
}

/**
 * Tells clients, and the log, which claim of an assertion was refused and what it should be. Until the signature is good a
 * client is told nothing that depends on keys or users, and of a user who may not assert, nothing at all.
 */
export function tellProblems(
  provider: Provider,
  {
    notes,
    mayAssert,
    ...rules
  }: AudienceRules & {
    readonly notes: Pick<RequestContext, 'explained'>
    /** Whether the user behind a client may use the key that has signed its assertion. */
    readonly mayAssert: (client: Client) => boolean
  },
): void {
  // The engine would look at the audience before the signature. It is looked at above, behind it.
  provider.OIDCContext.prototype.clientJwtAuthExpectedAudience = () => new AnyAudience()
  provider.on('grant.error', (ctx, error) => {
    const client = ctx.oidc.entities.Client
    const problem = problemOf(error, { ...rules, mayAssert: () => client !== undefined && mayAssert(client) })
    if (problem === undefined) return
    ctx.body = { error: error.error, error_description: problem }
    notes.explained(ctx.req, problem)
  })
}

/** Has whatever it is asked for. */
class AnyAudience extends Set<string> {
  override has(): boolean {
    return true
  }
}

function problemOf(
  error: errors.OIDCProviderError,
  rules: AudienceRules & { readonly mayAssert: () => boolean },
): string | undefined {
  if (error instanceof AssertionProblem) return error.error_detail
  if (!(error instanceof errors.InvalidClientAuth) || error.error_detail === undefined) return undefined
  const { error_detail: detail } = error
  const problem = BEFORE_SIGNATURE[detail] ?? (rules.mayAssert() ? BEHIND_SIGNATURE[detail] : undefined)
  return typeof problem === 'function' ? problem(rules) : problem
}

function audiencesOf({ issuer, assertionAudience }: AudienceRules): readonly unknown[] {
  return assertionAudience === 'endpoint' ? [issuer, issuer + OAUTH_PATHS.token] : [issuer]
}

function wrongAudience(rules: AudienceRules): string {
  const [issuer, endpoint] = audiencesOf(rules)
  return `aud must be the issuer, ${issuer},${endpoint === undefined ? '' : ` or the token endpoint, ${endpoint},`} and nothing else`
}

/**
 * Makes the engine use an assertion once on all replicas.
 *
 * The engine's own way looks whether an assertion was used, and then notes it: two requests at once could both pass.
 */
export function useAssertionsOnce(provider: Provider, uses: Pick<CredentialUses, 'useAssertionOnce'>): void {
  provider.ReplayDetection.unique = async (issuer, assertionId, tolerantlyExpiresAtSeconds) => {
    const expiresAtSeconds = tolerantlyExpiresAtSeconds - ENGINE_TOLERANCE_SECONDS + CLOCK_TOLERANCE_SECONDS
    const id = createHash('sha256')
      .update(JSON.stringify([issuer, assertionId]))
      .digest('base64url')
    try {
      return await uses.useAssertionOnce(id, new Date(Math.ceil(expiresAtSeconds) * 1000))
    } catch (error) {
      throw toUnavailable(error)
    }
  }
}

function isBefore(instant: unknown, end: number): boolean {
  return typeof instant === 'number' && instant <= end
}

function refuse(detail: string): never {
  throw new AssertionProblem(detail)
}
