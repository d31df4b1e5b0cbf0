/**
 * `grpc.health.v1.Health`: the server as a whole, under the empty name, and each service that administers it.
 *
 * The two can differ: without an active web key there are no tokens, but administration works.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { DescService } from '@bufbuild/protobuf'
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect'
import { type Health, HealthCheckResponse_ServingStatus as Status } from '../../../gen/grpc/health/v1/health_pb.js'
import type { Admit } from './public-routes.ts'

/** The longest delay of a change to a watcher, in milliseconds. */
const POLL_INTERVAL = 250

/** The name of the server as a whole. */
const SERVER = ''

export interface Serving {
  /** Whether it can issue tokens, as `/readyz` says. */
  readonly tokens: boolean
  readonly administration: boolean
}

/** @param administration The services that administer the instance. */
export function healthService(
  serving: () => Serving,
  administration: readonly DescService[],
  admit: Admit,
): ServiceImpl<typeof Health> {
  const names = new Set(administration.map(({ typeName }) => typeName))

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
      const { signal } = context
      admit(context)
      for (let sent: Status | undefined; ; ) {
        const status = statusOf(service)
        if (status !== sent) yield { status }
        // A server that stops changes its status first. Watchers still receive that change.
        else signal.throwIfAborted()
        sent = status
        await delay(POLL_INTERVAL, undefined, { signal }).catch(() => {})
      }
    },
  }
}
