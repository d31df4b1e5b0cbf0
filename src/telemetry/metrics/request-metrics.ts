/**
 * Metrics of requests: how many, how long, and why some are refused.
 *
 * No label has a value that a client can choose, so the number of series is bounded.
 */
import type { Registry } from 'prom-client'
import type { Signer } from '../../domain/ports/keys.ts'
import type { Handler } from '../../http/requests/exchange.ts'
import type { Answered } from '../../http/requests/router.ts'
import { OAUTH_PATHS } from '../../oauth/requests/endpoints.ts'
import { restMethodOf } from '../../rpc/keys/zitadel-web-key-service.ts'
import { isRpc, rpcMethodOf } from '../../rpc/protocol/rpc-route.ts'
import { metricsIn } from './instruments.ts'

export type MeasuredRequest = Pick<Answered, 'route' | 'method' | 'status' | 'seconds' | 'failure' | 'grant'>

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
]

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
  let algorithm = ''
  const { gauge, countEvents, histogram } = metricsIn(registry)
  const requestSeconds = histogram(
    'keyturn_request_duration_seconds',
    'Time to answer a request, by route, method and status.',
    DURATION_BUCKETS,
    ['route', 'status', 'method'],
  )
  const issueSeconds = histogram(
    'keyturn_token_issue_duration_seconds',
    'Time to answer a request that got a token.',
    DURATION_BUCKETS,
  )
  const issued = countEvents('keyturn_tokens_issued_total', 'Tokens issued, by algorithm.', ['algorithm'])
  const tokenFailures = countEvents('keyturn_token_failures_total', 'Token requests that got no token, by reason.', [
    'reason',
  ])
  const grants = countEvents(
    'keyturn_token_grants_total',
    'Token requests that got a token, by credential and binding.',
    ['credential', 'binding'],
  )
  const otherFailures = countEvents(
    'keyturn_oauth_failures_total',
    'Requests for introspection and revocation that were refused, by endpoint and reason.',
    ['endpoint', 'reason'],
  )
  const rpcFailures = countEvents('keyturn_rpc_failures_total', 'RPCs that failed, by method and reason.', [
    'method',
    'reason',
  ])
  // The first increase of a series is seen by alerts only if the series was there before.
  for (const reason of TOKEN_FAILURES) {
    tokenFailures.inc({ reason }, 0)
    for (const endpoint of OTHER_ENDPOINTS.values()) otherFailures.inc({ endpoint, reason }, 0)
  }
  gauge('keyturn_requests_in_flight', 'Requests that are being answered.', { aggregator: 'sum', read: () => inFlight })

  const recordTokenRequest = (request: MeasuredRequest): void => {
    if (request.status !== 200) {
      tokenFailures.inc({ reason: oauthFailureOf(request) })
      return
    }
    issueSeconds.observe(request.seconds)
    issued.inc({ algorithm })
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
      const { route, method, status } = request
      requestSeconds.observe({ route, status, method }, request.seconds)
      if (route === OAUTH_PATHS.token) recordTokenRequest(request)
      const endpoint = OTHER_ENDPOINTS.get(route)
      if (endpoint !== undefined && status !== 200) otherFailures.inc({ endpoint, reason: oauthFailureOf(request) })
      const rpcMethod = isRpc(route) ? rpcMethodOf(route) : restMethodOf(method, route)
      const reason = rpcMethod === undefined ? undefined : rpcFailureOf(request)
      if (rpcMethod !== undefined && reason !== undefined) rpcFailures.inc({ method: rpcMethod, reason })
    },
    /** What signs the tokens that are issued from now on. */
    signsWith: ({ signer }: { readonly signer: Pick<Signer, 'key'> | null }): void => {
      if (signer === null) return
      algorithm = signer.key.algorithm
      issued.inc({ algorithm }, 0)
    },
  }
}

function oauthFailureOf({ status, failure = 'other' }: MeasuredRequest): string {
  // The OAuth error is the same for a rate limit and for a server that cannot issue tokens.
  if (status === TOO_MANY_REQUESTS) return 'too_many_failures'
  return TOKEN_FAILURES.includes(failure) ? failure : 'other'
}

/** In gRPC the HTTP status is 200 even for errors, so the reason decides. */
function rpcFailureOf({ status, failure }: MeasuredRequest): string | undefined {
  if (failure === undefined) return status < 400 ? undefined : 'other'
  return RPC_REASON.test(failure) ? failure : 'other'
}
