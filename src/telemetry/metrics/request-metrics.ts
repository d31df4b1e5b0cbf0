/**
 * Metrics of requests: how many, how long, and why some are refused.
 *
 * No label has a value that a client can make up, or the number of series would be theirs to choose.
 */
import type { Meter } from '@opentelemetry/api'
import type { Signer, SignerFactory } from '../../domain/ports.ts'
import type { Handler } from '../../http/requests/exchange.ts'
import { OAUTH_PATHS } from '../../oauth/endpoints.ts'
import { isRpc, rpcMethodOf } from '../../rpc/rpc-route.ts'
import type { CounterSeries, HistogramSeries, HotMetrics } from './hot-metrics.ts'

/** A request that has been answered. */
export interface MeasuredRequest {
  /** The path of the route, or `other`. */
  readonly route: string
  /** One that HTTP knows, or `other`. */
  readonly method?: string
  readonly status: number
  readonly seconds: number
  /** Why it was refused: an OAuth error code, the reason of an RPC error, or `aborted`. */
  readonly failure?: string
}

const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Why a token is refused (RFC 6749 §5.2, RFC 8707 §2), and what can keep one from being issued. */
const TOKEN_FAILURES = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'invalid_target',
  'temporarily_unavailable',
  'server_error',
  'too_many_failures',
  'aborted',
  'other',
] as const

const KNOWN_TOKEN_FAILURES: ReadonlySet<string> = new Set(TOKEN_FAILURES)

/** The form of the words for refusals at the API, which come from a fixed list. */
const RPC_REASON = /^(?:[A-Z][A-Z_]{1,63}|aborted|server_error)$/

const TOO_MANY_REQUESTS = 429

/** Makes the instruments. */
export function measureRequests(meter: Meter, hot: HotMetrics) {
  let inFlight = 0
  const seconds = hot.histogram('keyturn_request_duration_seconds', {
    description: 'Time to answer a request, by route, method and status.',
    boundaries: DURATION_BUCKETS,
  })
  const issueSeconds = hot.histogram('keyturn_token_issue_duration_seconds', {
    description: 'Time to answer a request that got a token.',
    boundaries: DURATION_BUCKETS,
  })
  const issued = hot.counter('keyturn_tokens_issued_total', { description: 'Tokens signed, by algorithm.' })
  const issueSecondsAll = issueSeconds.with()
  // By route first, whose name is there already: to put a key together takes longer than all look-ups.
  const known = new Map<
    string,
    { readonly status: number; readonly method: string; readonly series: HistogramSeries }[]
  >()
  const secondsOf = (route: string, status: number, method: string): HistogramSeries => {
    const ofRoute = known.get(route) ?? []
    const found = ofRoute.find((one) => one.status === status && one.method === method)
    if (found !== undefined) return found.series
    const series = seconds.with({ route, status: String(status), method })
    known.set(route, [...ofRoute, { status, method, series }])
    return series
  }
  const tokenFailures = meter.createCounter('keyturn_token_failures_total', {
    description: 'Token requests that got no token, by reason.',
  })
  // A series that begins with its first failure has no increase that an alert could see.
  for (const reason of TOKEN_FAILURES) tokenFailures.add(0, { reason })
  const rpcFailures = meter.createCounter('keyturn_rpc_failures_total', {
    description: 'RPCs that failed, by method and reason.',
  })
  meter
    .createObservableGauge('keyturn_requests_in_flight', { description: 'Requests that are being answered.' })
    .addCallback((result) => result.observe(inFlight))

  return {
    around: (handler: Handler): Handler => {
      return (req, res) => {
        inFlight++
        return handler(req, res)
      }
    },
    record: (request: MeasuredRequest): void => {
      inFlight--
      const { route, method = 'other', status } = request
      secondsOf(route, status, method).record(request.seconds)
      if (route === OAUTH_PATHS.token) {
        if (status === 200) issueSecondsAll.record(request.seconds)
        else tokenFailures.add(1, { reason: tokenFailureOf(request) })
      } else if (isRpc(route)) {
        const reason = rpcFailureOf(request)
        if (reason !== undefined) rpcFailures.add(1, { method: rpcMethodOf(route), reason })
      }
    },
    countTokens: (signers: SignerFactory): SignerFactory => ({
      open: async (key, sealedPrivateKey) => {
        const signer = await signers.open(key, sealedPrivateKey)
        return counting(signer, issued.with({ algorithm: key.algorithm }))
      },
    }),
  }
}

function counting(signer: Signer, signed: CounterSeries): Signer {
  return {
    key: signer.key,
    sign: async (data) => {
      const signature = await signer.sign(data)
      signed.add()
      return signature
    },
  }
}

function tokenFailureOf({ status, failure = 'other' }: MeasuredRequest): string {
  // The wire has one word for this and for a server that cannot issue tokens.
  if (status === TOO_MANY_REQUESTS) return 'too_many_failures'
  return KNOWN_TOKEN_FAILURES.has(failure) ? failure : 'other'
}

/** In gRPC the HTTP status is 200 whatever happened, so the reason tells. */
function rpcFailureOf({ status, failure }: MeasuredRequest): string | undefined {
  if (failure === undefined) return status < 400 ? undefined : 'other'
  return RPC_REASON.test(failure) ? failure : 'other'
}
