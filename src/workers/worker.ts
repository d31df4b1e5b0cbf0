/**
 * A worker: one of several processes that serve the same port. It does what the primary says, and stops like a server
 * on its own when the primary is gone.
 */
import cluster from 'node:cluster'
import { setTimeout as delay } from 'node:timers/promises'
import { type Config, ConfigError } from '../config/config.ts'
import type { Log } from '../domain/ports.ts'
import { type RunningServer, type StopOptions, startServer } from '../server/server.ts'
import { STOP_LIMIT } from '../server/stop-limit.ts'
import type { ServerLog } from '../telemetry/log/log.ts'
import type { Failure, Order, Report } from './protocol.ts'

/** What a worker is started with. */
export interface WorkerOptions {
  readonly config: Config
  readonly log: ServerLog
  /** Resolves when the process is told to stop by a signal. */
  readonly signalled: Promise<StopOptions>
  /** What the operator is told about an error. */
  readonly describe: (error: unknown) => string
}

/**
 * Serves until the worker is told to stop. The caller ends the process then, whatever is still open in it.
 *
 * @returns The error because of which it never served, after the primary has been told.
 * @throws {Error} if it did not stop cleanly.
 */
export async function runWorker(options: WorkerOptions): Promise<unknown> {
  const { config, log, signalled, describe } = options
  const stopping = new AbortController()
  const stopped = Promise.race([orderTo('stop'), primaryGone(), signalled])
  void stopped.then(() => stopping.abort())
  const openEarly = orderTo('open').then(({ port }) => port)
  let server: RunningServer | undefined
  try {
    const order = await Promise.race([orderTo('start'), stopped.then(() => null)])
    if (order === null) return undefined
    const { port, baseUrl, socketFolder } = order
    const told = { ...config, listen: { ...config.listen, port }, baseUrl: baseUrl ?? config.baseUrl }
    const starting = startServer(told, log, {
      servesMetrics: false,
      socketFolder,
      ...(baseUrl === null ? {} : { openEarly }),
      signal: stopping.signal,
    })
    starting.catch(() => {})
    // A start can be cut off anywhere, as a crash would, and nothing is served yet.
    server = await Promise.race([starting, stopped.then(() => undefined)])
  } catch (error) {
    await report({ kind: 'failed', failure: toFailure(error, describe) })
    return error
  }
  if (server === undefined) return undefined
  const { listenUrl, initialised } = server
  answerMeasurements(server, log)
  await report({ kind: 'ready', server: { listenUrl, baseUrl: server.baseUrl, initialised } })
  const { drains = false } = await stopped
  // Without the primary nobody else ends a worker that hangs.
  const limit = (drains ? config.drainSeconds * 1000 : 0) + STOP_LIMIT
  await Promise.race([server.stop({ drains }), delay(limit)])
  return undefined
}

function orderTo<Kind extends Order['kind']>(kind: Kind): Promise<Extract<Order, { kind: Kind }>> {
  const { promise, resolve } = Promise.withResolvers<Extract<Order, { kind: Kind }>>()
  process.on('message', (order: Order) => {
    if (order.kind === kind) resolve(order as Extract<Order, { kind: Kind }>)
  })
  return promise
}

/** Clients go elsewhere then, because this process is not replaced. */
async function primaryGone(): Promise<StopOptions> {
  const { worker } = cluster
  if (worker === undefined) throw new Error('this process is no worker')
  const { promise, resolve } = Promise.withResolvers<StopOptions>()
  worker.once('disconnect', () => {
    // Otherwise Node.js ends the process here and now, with all requests in flight.
    worker.exitedAfterDisconnect = true
    resolve({ drains: true })
  })
  return promise
}

function answerMeasurements(server: RunningServer, log: Log): void {
  process.on('message', (order: Order) => {
    if (order.kind !== 'measure') return
    server
      .metrics()
      .catch((error: unknown) => {
        log.warn({ err: error }, 'the metrics could not be read')
        return null
      })
      .then((families) => report({ kind: 'metrics', families }))
  })
}

/** Resolves when it was said, or when there is nobody any more to say it to. */
function report(message: Report): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve()
    else process.send(message, undefined, undefined, () => resolve())
  })
}

function toFailure(error: unknown, describe: (error: unknown) => string): Failure {
  return { message: describe(error), problems: error instanceof ConfigError ? error.problems : null }
}
