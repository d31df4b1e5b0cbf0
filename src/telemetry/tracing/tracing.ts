/**
 * Traces of requests, if there is a collector for them. Without one nothing of OpenTelemetry's tracing is loaded, and
 * nothing is done per request.
 */
import type { Config } from '../../config/config.ts'
import { readTraceSampling } from '../../config/trace-sampling.ts'
import { readVersion } from '../../config/version.ts'
import type { Log } from '../../domain/ports.ts'
import type { Handler } from '../../http/requests/exchange.ts'

/** A request that has been answered, or that nobody waits for any more. */
export interface TracedRequest {
  readonly request: object
  /** One that HTTP knows, or `other`. */
  readonly method: string
  /** The path of the route, or `other`. */
  readonly route: string
  readonly status: number
  /** Who made it, proved or only claimed. */
  readonly clientId?: string
  /** Why it was refused. */
  readonly failure?: string
}

/** The traces of this process. */
export interface Tracing {
  /** The same handler, with a span for each request, which `end` ends. The answer tells its name in `traceresponse`. */
  around(handler: Handler): Handler
  /** Ends the span of a request. */
  end(request: TracedRequest): void
  /**
   * The same port, with a span for each call of a method that is made for a request.
   *
   * @param port An object of functions that return promises and do without `this`.
   */
  calls<Port extends object>(name: string, port: Port): Port
  /** Sends what has been recorded, within seconds, and stops recording. */
  stop(): Promise<void>
}

const NO_TRACING: Tracing = {
  around: (handler) => handler,
  end: () => {},
  calls: (_name, port) => port,
  stop: async () => {},
}

/** Starts tracing if the configuration names a collector. @throws {ConfigError} if it says wrongly what to trace. */
export async function startTracing({ tracesTo }: Config, log: Log): Promise<Tracing> {
  if (tracesTo === null) return NO_TRACING
  const sampling = readTraceSampling()
  const [{ createTracerProvider }, { RequestSpans }] = await Promise.all([
    import('./tracer-provider.ts'),
    import('./request-spans.ts'),
  ])
  const provider = createTracerProvider({ sampling, version: readVersion(), log })
  const spans = new RequestSpans(provider.getTracer('keyturn'))
  return {
    around: spans.around,
    end: spans.end,
    calls: spans.calls,
    stop: () => provider.shutdown(),
  }
}
