/** What an administrator decides about the tokens of one service user: how long they live, and claims of its own in them. */
import { DomainError } from '../errors.ts'

/** The shortest lifetime, in seconds: clients and verifiers need some time. */
const MIN_LIFETIME_SECONDS = 60

/** The longest JSON of the claims, in characters. Tokens go into headers, whose size is limited. */
const MAX_CLAIMS_LENGTH = 2000

/** Claims that Keyturn sets itself, and one that binds a token to a key. They are never taken from a user, not even from the database. */
const OWN: ReadonlySet<string> = new Set(['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'client_id', 'scope', 'cnf'])

/**
 * Further registered claims: of JWTs, access tokens (RFC 9068), token exchange, introspection, and OpenID Connect; and those from which
 * verifiers take rights without being asked: of Entra ID, Keycloak, Auth0 and Spring Security.
 */
const REGISTERED: ReadonlySet<string> = new Set(
  (
    'roles groups entitlements auth_time acr amr act may_act authorization_details azp nonce at_hash c_hash s_hash sid sub_id sub_jwk ' +
    'events toe txn active token_type username token_introspection status vot vtm vct htm htu ath ' +
    'name given_name family_name middle_name nickname preferred_username profile picture website email email_verified gender ' +
    'birthdate zoneinfo locale phone_number phone_number_verified address updated_at _claim_names _claim_sources ' +
    'scp permissions role realm_access resource_access authorities tid'
  ).split(' '),
)

/** Names that Keyturn, or ZITADEL, gives a meaning to. */
const RESERVED = /^urn:(?:service|zitadel):/

export interface TokenSettings {
  /** Null: as the instance has it. */
  readonly tokenLifetimeSeconds: number | null
  /** Put into each token as they are. Without registered names. */
  readonly tokenClaims: Readonly<Record<string, unknown>>
}

export const DEFAULT_TOKEN_SETTINGS: TokenSettings = { tokenLifetimeSeconds: null, tokenClaims: {} }

/** @param limit In seconds. Web keys stay published for as long. @throws {DomainError} `token_lifetime_invalid` beyond 60 seconds to the limit. */
export function parseTokenLifetime(seconds: number, limit: number): number {
  if (seconds >= MIN_LIFETIME_SECONDS && seconds <= limit) return seconds
  throw new DomainError(
    'token_lifetime_invalid',
    `tokens live for at least ${MIN_LIFETIME_SECONDS} and at most ${limit} seconds, which is KEYTURN_TOKEN_LIFETIME`,
    { metadata: { max_lifetime_seconds: String(limit) } },
  )
}

/** Of a JSON object. @throws {DomainError} `token_claims_invalid`. */
export function parseTokenClaims(json: string): TokenSettings['tokenClaims'] {
  if (json.length > MAX_CLAIMS_LENGTH) throw invalidClaims(`have at most ${MAX_CLAIMS_LENGTH} characters`)
  const claims = toTokenClaims(parseJson(json))
  for (const name of Object.keys(claims)) if (REGISTERED.has(name)) throw taken(name)
  return claims
}

/**
 * Claims as they are stored. Names that became registered later are accepted.
 *
 * @throws {DomainError} `token_claims_invalid` if they are no object, or would replace what Keyturn says.
 */
export function toTokenClaims(value: unknown): TokenSettings['tokenClaims'] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidClaims('be a JSON object, without numbers beyond 2^53, NUL or half a surrogate pair')
  for (const name of Object.keys(value)) {
    if (OWN.has(name) || RESERVED.test(name) || name === '__proto__') throw taken(name)
  }
  return value as Record<string, unknown>
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json, assertExact)
  } catch {
    return undefined
  }
}

/** Tokens have what was given, so a number that JavaScript would change is refused, and a text that PostgreSQL cannot store. */
function assertExact(name: string, value: unknown): unknown {
  const texts = [name, value].filter((text) => typeof text === 'string')
  if (texts.some((text) => text.includes('\0') || !text.isWellFormed())) throw new RangeError('a text cannot be stored')
  if (typeof value !== 'number') return value
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)))
    throw new RangeError('a number is too large')
  return value
}

function taken(name: string): DomainError {
  return invalidClaims(`not have the name ${JSON.stringify(name)}, which has a meaning already`)
}

function invalidClaims(rule: string): DomainError {
  return new DomainError('token_claims_invalid', `the claims must ${rule}`)
}
