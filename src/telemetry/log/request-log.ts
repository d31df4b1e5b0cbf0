/**
 * The access log: one line for each request.
 *
 * It has what the router and the handlers report, and a validated request id. It has no other data of the client: no query,
 * no header, no body.
 */
import type { Answered } from '../../http/requests/router.ts'
import { DOCUMENT_PATHS } from '../../oauth/requests/endpoints.ts'
import { parseTraceparent } from '../tracing/trace-context.ts'

export interface RequestLines {
  info(facts: object, message: string): void
  debug(facts: object, message: string): void
  isLevelEnabled(level: 'debug'): boolean
}

/** Health checks. Their lines would only fill the log. */
const PROBES = new Set(['/healthz', '/readyz', '/grpc.health.v1.Health/Check', '/grpc.health.v1.Health/Watch'])
const DOCUMENTS = new Set(Object.keys(DOCUMENT_PATHS))

/** What each open console asks every second. */
const CONSOLE_POLLING = '/console/api/iam.instance.v2.InstanceService/GetInstance'

/** Logs answered requests: health checks, and documents and the state of the instance that were found, at debug; all others at info. */
export function logRequests(lines: RequestLines): (answered: Answered) => void {
  return (answered) => {
    if (!isQuiet(answered)) lines.info(factsOf(answered), 'request')
    else if (lines.isLevelEnabled('debug')) lines.debug(factsOf(answered), 'request')
  }
}

function isQuiet({ route, status }: Answered): boolean {
  return PROBES.has(route) || ((DOCUMENTS.has(route) || route === CONSOLE_POLLING) && status < 400)
}

function factsOf(answered: Answered): object {
  const { method, route, status, seconds, clientId, failure, detail, address, requestId, clientRequestId } = answered
  const { traceparent } = answered.request.headers
  const traceId = typeof traceparent === 'string' ? parseTraceparent(traceparent)?.traceId : undefined
  const milliseconds = Math.round(seconds * 1e6) / 1e3
  const who = { clientId, failure, detail, address, requestId, clientRequestId, traceId }
  // Undefined members are left out of the line.
  return { method, route, status, milliseconds, ...who }
}
