/**
 * Validates the header and claims of client assertions (`private_key_jwt`, RFC 7523 §3), prevents their replay, and describes
 * refusals to clients. oidc-provider checks the signature, the algorithm and that the claims are present.
 *
 * Stricter than the RFC: unless configured otherwise, the audience must be the issuer alone, so that an assertion for another server
 * is never accepted here; the lifetime is at most an hour; and an assertion is used once over all replicas.
 */
import { createHash } from 'node:crypto'
import { type Client, errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider'
import { isCompactJws } from '../../domain/compact-jws.ts'
import type { CredentialUses } from '../../domain/ports/records.ts'
import type { RequestContext } from '../../domain/ports/runtime.ts'
import { OAUTH_PATHS } from '../endpoints.ts'
import { toUnavailable } from '../errors.ts'

/** The tolerated clock skew of a client, in seconds. */
const CLOCK_TOLERANCE_SECONDS = 60

/**
 * oidc-provider compares dates with the clock of this machine only. So its tolerance is ten years, and dates are checked here with
 * the service's clock.
 */
export const PROVIDER_TOLERANCE_SECONDS = 10 * 365 * 86_400

/** Values of `typ` in lower case. It may be missing: RFC 7523 defines no type; its update defines the second. */
const TYPES: readonly unknown[] = ['jwt', 'client-authentication+jwt', undefined]

const MAX_LIFETIME_SECONDS = 3600
const MAX_ID_LENGTH = 200

/**
 * The accepted audience: the issuer alone and as a text (FAPI 2.0 Security Profile §5.3.2.1), or also the URL of the token endpoint
 * (RFC 7523 §3), which many libraries still send, and a list of one.
 */
export type AssertionAudience = 'issuer' | 'endpoint'

/** What decides the accepted audiences. */
export interface AudienceRules {
  readonly issuer: string
  readonly assertionAudience: AssertionAudience
}

/** An invalid assertion with a valid signature. The detail is sent to the client. */
class AssertionProblem extends errors.InvalidClientAuth {}

/**
 * Checks the encoding and the header of an assertion with a valid signature. @throws `invalid_client`.
 *
 * A JWT of another type is not an assertion, even with all its claims (RFC 8725 §3.11); a JWT payload is always encoded (RFC 7797
 * §7); no extension is supported (RFC 7515 §4.1.11).
 */
export function assertAssertionHeader(assertion: unknown, { typ, crit, b64 }: Readonly<Record<string, unknown>>): void {
  if (typeof assertion !== 'string' || !isCompactJws(assertion))
    refuse('the assertion must be base64url without padding')
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ
  if (!TYPES.includes(type)) refuse('typ must be JWT or client-authentication+jwt, or missing')
  if (crit !== undefined || b64 !== undefined) refuse('crit and b64 must not be there')
}

/** Checks the claims of an assertion with a valid signature. @throws `invalid_client`. */
export function assertAssertionClaims(
  claims: Readonly<Record<string, unknown>>,
  { now, ...rules }: AudienceRules & { readonly now: Date },
): void {
  const { aud, exp, iat, nbf, jti } = claims
  const seconds = now.getTime() / 1000
  const soon = seconds + CLOCK_TOLERANCE_SECONDS
  if (!audiencesOf(rules).includes(rules.assertionAudience === 'endpoint' ? unlisted(aud) : aud))
    refuse(wrongAudience(rules))
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

/** Descriptions for clients, by the internal error detail of oidc-provider. */
type Descriptions = Readonly<Record<string, string | ((rules: AudienceRules) => string)>>

/** Errors before the signature check. They depend on neither keys nor users. */
const BEFORE_SIGNATURE: Descriptions = {
  'sub (JWT subject) must be provided in the client_assertion JWT': 'sub must be the client_id',
  'expiration must be specified in the client_assertion JWT': 'exp must be there',
  'unique jti (JWT ID) must be provided in the client_assertion JWT': BAD_ID,
  'iss (JWT issuer) must be provided in the client_assertion JWT': OTHER_ISSUER,
  'iss (JWT issuer) must be the client_id': OTHER_ISSUER,
  'aud (JWT audience) must be provided in the client_assertion JWT': wrongAudience,
  'list of audience (aud) must include the endpoint url, issuer identifier or token endpoint url': wrongAudience,
}

/** Errors after the signature check, before the user is checked. */
const AFTER_SIGNATURE: Descriptions = {
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
 * Describes to clients, and in the log, which claim of an assertion was refused and what is expected. Before the signature is
 * verified a description reveals nothing about keys or users; an assertion of a disabled user or with a dead key gets none.
 */
export function describeAssertionErrors(
  provider: Provider,
  {
    contexts,
    mayAssert,
    ...rules
  }: AudienceRules & {
    readonly contexts: Pick<RequestContext, 'explained'>
    /** Whether the user of a client is enabled and the key of its assertion is live. */
    readonly mayAssert: (client: Client) => boolean
  },
): void {
  // oidc-provider would check the audience before the signature. `assertAssertionClaims` checks it after.
  provider.OIDCContext.prototype.clientJwtAuthExpectedAudience = () => new AnyAudience()
  const describe = (ctx: KoaContextWithOIDC, error: errors.OIDCProviderError): void => {
    const client = ctx.oidc.entities.Client
    const description = descriptionOf(error, { ...rules, mayAssert: () => client !== undefined && mayAssert(client) })
    if (description === undefined) return
    ctx.body = { error: error.error, error_description: description }
    contexts.explained(ctx.req, description)
  }
  provider.on('grant.error', describe)
  provider.on('introspection.error', describe)
  provider.on('revocation.error', describe)
}

/** Contains every audience. */
class AnyAudience extends Set<string> {
  override has(): boolean {
    return true
  }
}

function descriptionOf(
  error: errors.OIDCProviderError,
  rules: AudienceRules & { readonly mayAssert: () => boolean },
): string | undefined {
  if (error instanceof AssertionProblem) return error.error_detail
  if (!(error instanceof errors.InvalidClientAuth) || error.error_detail === undefined) return undefined
  const { error_detail: detail } = error
  const description = BEFORE_SIGNATURE[detail] ?? (rules.mayAssert() ? AFTER_SIGNATURE[detail] : undefined)
  return typeof description === 'function' ? description(rules) : description
}

function audiencesOf({ issuer, assertionAudience }: AudienceRules): readonly unknown[] {
  return assertionAudience === 'endpoint' ? [issuer, issuer + OAUTH_PATHS.token] : [issuer]
}

/** The value of a list of one. */
function unlisted(aud: unknown): unknown {
  return Array.isArray(aud) && aud.length === 1 ? aud[0] : aud
}

function wrongAudience(rules: AudienceRules): string {
  const [issuer, endpoint] = audiencesOf(rules)
  return endpoint === undefined
    ? `aud must be the issuer, ${issuer}, as a text and nothing else`
    : `aud must be the issuer, ${issuer}, or the token endpoint, ${endpoint}, and nothing else`
}

/**
 * Replay protection: an assertion is accepted once over all replicas.
 *
 * oidc-provider's own check reads first and writes later, so two simultaneous requests could both pass.
 */
export function preventReplay(provider: Provider, uses: Pick<CredentialUses, 'useAssertionOnce'>): void {
  provider.ReplayDetection.unique = async (issuer, assertionId, tolerantlyExpiresAtSeconds) => {
    const expiresAtSeconds = tolerantlyExpiresAtSeconds - PROVIDER_TOLERANCE_SECONDS + CLOCK_TOLERANCE_SECONDS
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
