/**
 * `grpc.health.v1.Health`: the server as a whole, under the empty name, and each service that administers it.
 *
 * The two can differ. Without a web key that signs there are no tokens, while administration works and is what is needed.
 */
import type { DescService } from '@bufbuild/protobuf'
import { Code, ConnectError, type ContextValues, type ServiceImpl } from '@connectrpc/connect'
import { type Health, HealthCheckResponse_ServingStatus as Status } from '../../../gen/grpc/health/v1/health_pb.js'
import type { Clock } from '../../domain/time.ts'
import { OpenStreams, type StreamOrigin } from './open-streams.ts'
import { Polling } from './polling.ts'

/** How late a watcher may hear of a change, in milliseconds. */
const LOOK_EVERY = 250

/** The most watchers at the same time. */
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

/** What the service needs. */
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
  const watches = new OpenStreams(MAX_WATCHES)
  const changes = new Polling(clock, LOOK_EVERY)

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
      const signal = watches.enter(context.signal, originOf(context.values))
      for (let sent: Status | undefined; ; ) {
        const status = statusOf(service)
        if (status !== sent) yield { status }
        sent = status
        await changes.until(() => statusOf(service) !== sent, signal)
        // The server that stops changes its status first, and that is still said.
        if (statusOf(service) === sent) signal.throwIfAborted()
      }
    },
  }
}
