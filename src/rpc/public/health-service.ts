/**
 * `grpc.health.v1.Health`: the server as a whole, under the empty name, and each service that administers it.
 *
 * The two can differ: without an active web key there are no tokens, but administration works.
 */
import type { DescService } from '@bufbuild/protobuf'
import { Code, ConnectError, type ContextValues, type ServiceImpl } from '@connectrpc/connect'
import { type Health, HealthCheckResponse_ServingStatus as Status } from '../../../gen/grpc/health/v1/health_pb.js'
import type { Clock } from '../../domain/time.ts'
import { Polling } from './polling.ts'
import { StreamLimiter, type StreamOrigin } from './stream-limiter.ts'

/** The longest delay of a change to a watcher, in milliseconds. */
const POLL_INTERVAL = 250

/** The most concurrent watchers. */
const MAX_WATCHES = { total: 1_000, perAddress: 200, perConnection: 50 }

/** The name of the server as a whole. */
const SERVER = ''

/** What the server can do now. */
export interface Serving {
  /** Whether it can issue tokens, as `/readyz` says. */
  readonly tokens: boolean
  /** Whether it can answer administrative calls. */
  readonly administration: boolean
}

export interface HealthOptions {
  readonly serving: () => Serving
  /** The services that administer the instance. */
  readonly administration: readonly DescService[]
  readonly clock: Clock
  readonly originOf: (values: ContextValues) => StreamOrigin
}

/** Answers the calls of the service. */
export function healthService({ serving, administration, clock, originOf }: HealthOptions): ServiceImpl<typeof Health> {
  const names = new Set(administration.map(({ typeName }) => typeName))
  const watches = new StreamLimiter(MAX_WATCHES)
  const changes = new Polling(clock, POLL_INTERVAL)

  const statusOf = (name: string): Status => {
    if (name === SERVER) return serving().tokens ? Status.SERVING : Status.NOT_SERVING
    if (!names.has(name)) return Status.SERVICE_UNKNOWN
    return serving().administration ? Status.SERVING : Status.NOT_SERVING
  }

  return {
    check({ service }) {
      const status = statusOf(service)
      if (status === Status.SERVICE_UNKNOWN) throw new ConnectError('there is no such service', Code.NotFound)
      return { status }
    },

    list() {
      return { statuses: Object.fromEntries([SERVER, ...names].map((name) => [name, { status: statusOf(name) }])) }
    },

    async *watch({ service }, context) {
      const signal = watches.admit(context.signal, originOf(context.values))
      for (let sent: Status | undefined; ; ) {
        const status = statusOf(service)
        if (status !== sent) yield { status }
        sent = status
        await changes.until(() => statusOf(service) !== sent, signal)
        // A server that stops changes its status first. Watchers still receive that change.
        if (statusOf(service) === sent) signal.throwIfAborted()
      }
    },
  }
}
