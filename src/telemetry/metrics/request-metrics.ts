/**
 * Metrics of requests: how many, how long, and why some are refused.
 *
 * No label has a value that a client can choose, so the number of series is bounded.
 */
import { Counter, Histogram, type Registry } from 'prom-client'
import type { Signer, SignerFactory } from '../../domain/ports/keys.ts'
import type { GrantFacts } from '../../domain/ports/runtime.ts'
import type { Handler } from '../../http/requests/exchange.ts'
import { OAUTH_PATHS } from '../../oauth/requests/endpoints.ts'
import { restMethodOf } from '../../rpc/keys/zitadel-web-key-service.ts'
import { isRpc, rpcMethodOf } from '../../rpc/protocol/rpc-route.ts'
import { observing } from './observed-metrics.ts'

export interface MeasuredRequest {
  /** The path of the route, or `other`. */
  readonly route: string
  /** A method of HTTP, or `other`. */
  readonly method?: string
  readonly status: number
  readonly seconds: number
  /** Why it was refused: an OAuth error code, the reason of an RPC error, or `aborted`. */
  readonly failure?: string
  /** Of a request that got a token. */
  readonly grant?: GrantFacts
}

const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Why a request of the OAuth endpoints is refused (RFC 6749 §5.2, RFC 8707 §2, RFC 9449 §5 and §8) or fails. */
const TOKEN_FAILURES = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'invalid_target',
  'invalid_dpop_proof',
  'use_dpop_nonce',
  'temporarily_unavailable',
  'server_error',
  'too_many_failures',
  'aborted',
  'other',
] as const

const KNOWN_TOKEN_FAILURES: ReadonlySet<string> = new Set(TOKEN_FAILURES)

/** The endpoints of OAuth that issue no token. */
const OTHER_ENDPOINTS: ReadonlyMap<string, string> = new Map([
  [OAUTH_PATHS.introspection, 'introspection'],
  [OAUTH_PATHS.revocation, 'revocation'],
])

/** The form of the reasons of RPC errors, which come from a fixed list. */
const RPC_REASON = /^(?:[A-Z][A-Z_]{1,63}|aborted|server_error)$/

const TOO_MANY_REQUESTS = 429

export function measureRequests(registry: Registry) {
  let inFlight = 0
  const registers = [registry]
  const requestSeconds = new Histogram({
    name: 'keyturn_request_duration_seconds',
    help: 'Time to answer a request, by route, method and status.',
    labelNames: ['route', 'status', 'method'],
    buckets: DURATION_BUCKETS,
    registers,
  })
  const issueSeconds = new Histogram({
    name: 'keyturn_token_issue_duration_seconds',
    help: 'Time to answer a request that got a token.',
    buckets: DURATION_BUCKETS,
    registers,
  })
  const issued = new Counter({
    name: 'keyturn_tokens_issued_total',
    help: 'Tokens signed, by algorithm.',
    labelNames: ['algorithm'],
    registers,
  })
  const tokenFailures = new Counter({
    name: 'keyturn_token_failures_total',
    help: 'Token requests that got no token, by reason.',
    labelNames: ['reason'],
    registers,
  })
  // The first increase of a series is seen by alerts only if the series was there before.
  for (const reason of TOKEN_FAILURES) tokenFailures.inc({ reason }, 0)
  const grants = new Counter({
    name: 'keyturn_token_grants_total',
    help: 'Token requests that got a token, by credential and binding.',
    labelNames: ['credential', 'binding'],
    registers,
  })
  const otherFailures = new Counter({
    name: 'keyturn_oauth_failures_total',
    help: 'Requests for introspection and revocation that were refused, by endpoint and reason.',
    labelNames: ['endpoint', 'reason'],
    registers,
  })
  for (const endpoint of OTHER_ENDPOINTS.values())
    for (const reason of TOKEN_FAILURES) otherFailures.inc({ endpoint, reason }, 0)
  const rpcFailures = new Counter({
    name: 'keyturn_rpc_failures_total',
    help: 'RPCs that failed, by method and reason.',
    labelNames: ['method', 'reason'],
    registers,
  })
  observing(registry).gauge('keyturn_requests_in_flight', 'Requests that are being answered.', {
    aggregator: 'sum',
    read: () => inFlight,
  })

  const recordTokenRequest = (request: MeasuredRequest): void => {
    if (request.status !== 200) {
      tokenFailures.inc({ reason: oauthFailureOf(request) })
      return
    }
    issueSeconds.observe(request.seconds)
    if (request.grant !== undefined) grants.inc({ ...request.grant })
  }

  return {
    around:
      (handler: Handler): Handler =>
      (req, res) => {
        inFlight++
        return handler(req, res)
      },
    record: (request: MeasuredRequest): void => {
      inFlight--
      const { route, method = 'other', status } = request
      requestSeconds.observe({ route, status, method }, request.seconds)
      if (route === OAUTH_PATHS.token) recordTokenRequest(request)
      const endpoint = OTHER_ENDPOINTS.get(route)
      if (endpoint !== undefined && status !== 200) otherFailures.inc({ endpoint, reason: oauthFailureOf(request) })
      const rpcMethod = isRpc(route) ? rpcMethodOf(route) : restMethodOf(method, route)
      const reason = rpcMethod === undefined ? undefined : rpcFailureOf(request)
      if (rpcMethod !== undefined && reason !== undefined) rpcFailures.inc({ method: rpcMethod, reason })
    },
    countTokens: (signers: SignerFactory): SignerFactory => ({
      open: async (key, sealedPrivateKey) => {
        const signer = await signers.open(key, sealedPrivateKey)
        const { algorithm } = key
        issued.inc({ algorithm }, 0)
        const sign: Signer['sign'] = async (data) => {
          const signature = await signer.sign(data)
          issued.inc({ algorithm })
          return signature
        }
        return { key: signer.key, sign }
      },
    }),
  }
}

function oauthFailureOf({ status, failure = 'other' }: MeasuredRequest): string {
  // The OAuth error is the same for a rate limit and for a server that cannot issue tokens.
  if (status === TOO_MANY_REQUESTS) return 'too_many_failures'
  return KNOWN_TOKEN_FAILURES.has(failure) ? failure : 'other'
}

/** In gRPC the HTTP status is 200 even for errors, so the reason decides. */
function rpcFailureOf({ status, failure }: MeasuredRequest): string | undefined {
  if (failure === undefined) return status < 400 ? undefined : 'other'
  return RPC_REASON.test(failure) ? failure : 'other'
}
