/**
 * Verifies the access tokens (RFC 9068) of an issuer for one service, and checks the scopes and roles that it requires.
 */
import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose'
import { createDiscovery, PLATFORM, parseIssuer, type Runtime } from './discovery.ts'
import { type ClientCertificate, createProofCheck, type DpopOptions, type ProvedRequest } from './dpop-proof.ts'
import { createJwksCache, type KeyFinder, KeysUnavailable } from './jwks-cache.ts'
import { assertPossession, connectionCertificate, type PresentedToken, presentedToken } from './possession.ts'
import { TokenRefusal } from './token-refusal.ts'

export interface Requirements {
  /** Scopes, all of which the token must have. Default: none. */
  readonly requiredScopes?: readonly string[] | undefined
  /** Roles in the service's project, all of which the caller must have. Default: none. */
  readonly requiredRoles?: readonly string[] | undefined
}

export interface VerifierOptions extends Requirements {
  /** The base URL of Keyturn, such as `https://id.example.com`. */
  readonly issuer: string
  /** The id of the service's project, or an audience of the project, which is a URI. */
  readonly audience: string
  /** The id of the service's project, for its roles. Default: the audience. */
  readonly projectId?: string | undefined
  /** The tolerated difference of the clocks. Default 5, range 0 to 300. */
  readonly clockToleranceSeconds?: number | undefined
  /** The longest time to keep the JWKS. Default 300, range 1 to 86 400. A shorter `max-age` of the server wins. */
  readonly jwksMaxAgeSeconds?: number | undefined
  /** From one fetch of the JWKS for an unknown `kid` to the next. Default 5, range 0 to 3600. */
  readonly cooldownSeconds?: number | undefined
  /** Accepts tokens that are bound to a key (DPoP, RFC 9449). Without it they are refused. */
  readonly dpop?: DpopOptions | undefined
  /**
   * Reads the certificate of a client, for tokens that are bound to one (RFC 8705), from what `admit` gets: for services behind a proxy, whose
   * headers nothing else may be able to send. If it throws, the token is refused. Default: the certificate of the TLS connection, of Express,
   * `node:http`, Fastify, and Hono on Node.js.
   */
  readonly clientCertificate?: ((request: object) => ClientCertificate) | undefined
  /** What fetches the JWKS. Default: that of the platform. */
  readonly fetch?: typeof fetch | undefined
  /** The limit for one fetch, in milliseconds. Default 5000, range 1 to 60 000. */
  readonly timeoutMillis?: number | undefined
}

export interface AccessToken {
  /** The service user (`sub`). It never changes. */
  readonly subject: string
  /** The client ID that the token was requested with. It changes when the project is renamed. */
  readonly clientId: string
  readonly scopes: readonly string[]
  /** The caller's roles in the service's project. Empty unless the caller requested its roles. */
  readonly roles: readonly string[]
  readonly expiresAt: Date
  /** With the `jti`, by which single tokens can be denied: the text of a token has other spellings that are as good. */
  readonly claims: Readonly<JWTPayload>
}

/** A verifier. Make one and keep it: it has the keys of the issuer. */
export interface Verifier {
  /** Verifies a bearer token. @throws {TokenRefusal} for any token that is not good, and for one that is bound to a key. */
  verify(token: string): Promise<AccessToken>
  /**
   * Verifies the token of an `Authorization` header (RFC 6750 §2.1, RFC 9449 §7.1).
   *
   * @param request Has the proof or the certificate for a token that is bound. Without it such a token is refused.
   * @throws {TokenRefusal}, also if there is no token.
   */
  authenticate(authorization: string | null | undefined, request?: ProvedRequest): Promise<AccessToken>
  /**
   * The same for a request of a framework, whose token `tokenOf` then knows. What the middleware of this package calls.
   *
   * @throws {TokenRefusal}
   */
  admit(request: object, authorization: string | null | undefined, proved?: ProvedRequest): Promise<AccessToken>
  /**
   * The token of an admitted request: of Express, `node:http` and Fastify the request, of Hono the context.
   *
   * @throws {Error} if it was not admitted, so that a handler without middleware in front fails closed.
   */
  tokenOf(request: object): AccessToken
  /** A verifier with other requirements and the same keys and requests: for a route that needs more than the others. */
  requiring(requirements: Requirements): Verifier
}

/** Every algorithm that Keyturn signs with. The key decides which of them verifies a token. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'EdDSA']
/** Bounds the work for a token before it is parsed. Just below the usual limit of a header. */
const MAX_TOKEN_LENGTH = 15 * 1024

/** @throws {TypeError} if an option is missing or has no valid value; scopes and roles are not looked at. */
export function createVerifier(options: VerifierOptions, runtime: Runtime = PLATFORM): Verifier {
  const { audience, projectId = audience, fetch = globalThis.fetch, timeoutMillis = 5_000 } = options
  const { clockToleranceSeconds: clockTolerance = 5, jwksMaxAgeSeconds = 300, cooldownSeconds = 5 } = options
  assertRange('clockToleranceSeconds', clockTolerance, [0, 300])
  assertRange('jwksMaxAgeSeconds', jwksMaxAgeSeconds, [1, 86_400])
  assertRange('cooldownSeconds', cooldownSeconds, [0, 3600])
  assertRange('timeoutMillis', timeoutMillis, [1, 60_000])
  const issuer = parseIssuer(options.issuer)
  if (typeof audience !== 'string' || audience === '')
    throw new TypeError('audience must be the id of the project that the tokens are meant for, or one of its audiences')
  const fetching = { fetch, timeoutMillis }
  const discover = createDiscovery(issuer, fetching)
  const jwksUri = async () => (await discover()).jwksUri
  const limits = { maxAgeMillis: jwksMaxAgeSeconds * 1000, cooldownMillis: cooldownSeconds * 1000 }
  const keys = createJwksCache({ ...fetching, ...limits, jwksUri }, runtime)
  const checkProof = options.dpop === undefined ? undefined : createProofCheck(options.dpop, runtime)
  const { clientCertificate: certificateOf = connectionCertificate } = options
  const check = async ({ token, isDpop }: PresentedToken, request?: ProvedRequest): Promise<AccessToken> => {
    const currentDate = new Date(runtime.now())
    const claims = await genuineClaims(token, { keys, issuer, audience, clockTolerance, currentDate })
    await assertPossession(claims, { token, isDpop, request }, { issuer, checkProof })
    return toAccessToken(claims, projectId)
  }
  return verifierWith({ issuer, check, certificateOf, admitted: new WeakMap() }, options)
}

/** Of a request whose method and address are not known. */
const NO_PROOF: ProvedRequest = { proof: undefined, method: '', url: '/' }

/** NaN, which an unset variable becomes, would keep a withdrawn key for good. */
function assertRange(name: string, value: unknown, [least, most]: readonly [number, number]): void {
  if (typeof value !== 'number' || !(value >= least && value <= most))
    throw new TypeError(`${name} must be a number from ${least} to ${most}`)
}

interface Core {
  readonly issuer: string
  /** Whether it is genuine, its sender's, and what it says. */
  check(token: PresentedToken, request?: ProvedRequest): Promise<AccessToken>
  certificateOf(request: object): ClientCertificate
  /** Beside the requests instead of on them: no type of a framework needs to be extended, and nothing else can write here. */
  readonly admitted: WeakMap<object, AccessToken>
}

function verifierWith(core: Core, { requiredScopes = [], requiredRoles = [] }: Requirements): Verifier {
  const { issuer } = core
  const verifyWith: Core['check'] = async (token, request) => {
    const accessToken = await core.check(token, request)
    const { scopes, roles } = accessToken
    if (!requiredScopes.every((scope) => scopes.includes(scope)))
      throw new TokenRefusal('insufficient_scope', 'the access token lacks a required scope', {
        issuer,
        scope: requiredScopes.join(' '),
      })
    if (!requiredRoles.every((role) => roles.includes(role)))
      throw new TokenRefusal('insufficient_scope', 'the access token lacks a required role', { issuer })
    return accessToken
  }
  const authenticate: Verifier['authenticate'] = async (authorization, request) =>
    await verifyWith(presentedToken(authorization, issuer), request)
  return {
    verify: async (token) => await verifyWith({ token, isDpop: false }),
    authenticate,
    admit: async (request, authorization, proved) => {
      const { certificate = () => core.certificateOf(request), ...others } = proved ?? NO_PROOF
      const token = await authenticate(authorization, { ...others, certificate })
      core.admitted.set(request, token)
      return token
    },
    tokenOf: (request) => {
      const token = core.admitted.get(request)
      if (token === undefined)
        throw new Error('this request was not verified: put a middleware in front of its handler')
      return token
    },
    requiring: (requirements) => verifierWith(core, requirements),
  }
}

interface ClaimsRules extends JWTVerifyOptions {
  readonly keys: KeyFinder
  readonly issuer: string
}

async function genuineClaims(token: string, { keys, ...expected }: ClaimsRules): Promise<JWTPayload> {
  const { issuer } = expected
  if (token?.length > MAX_TOKEN_LENGTH)
    throw new TokenRefusal('invalid_token', 'the access token is too long', { issuer })
  try {
    const { payload } = await jwtVerify(token, keys, {
      ...expected,
      algorithms: ALGORITHMS,
      typ: 'at+jwt',
      requiredClaims: ['exp', 'iat', 'sub', 'client_id', 'jti'],
    })
    // The claims that are used below; jose checks that they are there.
    if (typeof payload.sub !== 'string' || typeof payload.client_id !== 'string') throw new errors.JWTInvalid()
    return payload
  } catch (cause) {
    if (cause instanceof KeysUnavailable) throw new TokenRefusal('unavailable', cause.message, { issuer, cause })
    if (!(cause instanceof errors.JOSEError)) throw cause
    throw new TokenRefusal('invalid_token', hintFor(cause), { issuer, cause })
  }
}

/** Claims are checked after the signature, so only the holder of a genuine token gets more than "not valid". */
function hintFor(cause: errors.JOSEError): string {
  if (cause instanceof errors.JWTExpired) return 'the access token has expired'
  if (cause instanceof errors.JWTClaimValidationFailed && cause.claim === 'aud')
    return 'the access token is meant for another service'
  return 'the access token is not valid'
}

function toAccessToken(claims: JWTPayload, projectId: string): AccessToken {
  const { sub, client_id, scope, exp } = claims
  const roles = claims[`urn:service:iam:org:project:${projectId}:roles`]
  return {
    subject: String(sub),
    clientId: String(client_id),
    scopes: typeof scope === 'string' ? scope.split(' ').filter((word) => word !== '') : [],
    roles: Array.isArray(roles) ? roles.filter((role) => typeof role === 'string') : [],
    expiresAt: new Date(Number(exp) * 1000),
    claims,
  }
}
