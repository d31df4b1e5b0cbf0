/** Traces of requests, if a collector is configured. Without one OpenTelemetry's SDK is not loaded, and requests cost nothing. */
import type { Config } from '../../config/config.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Handler } from '../../http/requests/exchange.ts'
import type { Answered } from '../../http/requests/router.ts'

/** How long the last spans may take when the server stops, in milliseconds. */
export const LAST_SPANS_MILLIS = 2_000

export interface Tracing {
  /** Wraps the handler with a span for each request, which `end` ends. The answer has its ids in `traceresponse`. */
  around(handler: Handler): Handler
  end(answered: Answered): void
  /**
   * Wraps a port with a span for each call of a method within a request.
   *
   * @param port An object of functions that return promises and do not use `this`.
   */
  calls<Port extends object>(name: string, port: Port): Port
  /** Exports the recorded spans, for two seconds at most, and stops recording. */
  stop(): Promise<void>
}

const NO_TRACING: Tracing = {
  around: (handler) => handler,
  end: () => {},
  calls: (_name, port) => port,
  stop: async () => {},
}

/** Starts tracing if the configuration names a collector. */
export async function startTracing({ traceSampling }: Config, log: Log): Promise<Tracing> {
  if (traceSampling === null) return NO_TRACING
  const { createTracing } = await import('./request-spans.ts')
  return createTracing(traceSampling, log)
}
