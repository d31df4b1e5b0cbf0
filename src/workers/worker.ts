/**
 * A worker: one of several processes that serve the same port. It follows the commands of the primary, and shuts down gracefully
 * when the primary has exited.
 */
import cluster from 'node:cluster'
import { setTimeout as delay } from 'node:timers/promises'
import { type Config, ConfigError } from '../config/config.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { type RunningServer, type StopOptions, startServer } from '../server/server.ts'
import { STOP_LIMIT } from '../server/stop-limit.ts'
import type { ServerLog } from '../telemetry/log/log.ts'
import type { Command, Failure, Report } from './protocol.ts'

/** What a worker needs. */
export interface WorkerOptions {
  readonly config: Config
  readonly log: ServerLog
  /** Resolves at a signal to stop. */
  readonly signalled: Promise<StopOptions>
  /** Makes a message for the operator. */
  readonly describe: (error: unknown) => string
}

/**
 * Serves until a command or a signal to stop. The caller then exits, whatever is still open.
 *
 * @returns The error of a failed start, after it was reported to the primary.
 * @throws {Error} if the shutdown failed.
 */
export async function runWorker(options: WorkerOptions): Promise<unknown> {
  const { config, log, signalled, describe } = options
  const stopping = new AbortController()
  const stopped = Promise.race([commandTo('stop'), primaryExited(), signalled])
  void stopped.then(() => stopping.abort())
  const openEarly = commandTo('open').then(({ port }) => port)
  let server: RunningServer | undefined
  try {
    const command = await Promise.race([commandTo('start'), stopped.then(() => null)])
    if (command === null) return undefined
    const { port, baseUrl, socketFolder } = command
    const ownConfig = { ...config, listen: { ...config.listen, port }, baseUrl: baseUrl ?? config.baseUrl }
    const starting = startServer(ownConfig, log, {
      servesMetrics: false,
      socketFolder,
      ...(baseUrl === null ? {} : { openEarly }),
      signal: stopping.signal,
    })
    starting.catch(() => {})
    // A start can be interrupted anywhere, as by a crash: nothing is served yet.
    server = await Promise.race([starting, stopped.then(() => undefined)])
  } catch (error) {
    await report({ kind: 'failed', failure: toFailure(error, describe) })
    return error
  }
  if (server === undefined) return undefined
  const { listenUrl, initialised } = server
  answerMetrics(server, log)
  await report({ kind: 'ready', server: { listenUrl, baseUrl: server.baseUrl, initialised } })
  const { drains = false } = await stopped
  // Without the primary no other process kills a worker that hangs.
  const limit = (drains ? config.drainSeconds * 1000 : 0) + STOP_LIMIT
  await Promise.race([server.stop({ drains }), delay(limit)])
  return undefined
}

function commandTo<Kind extends Command['kind']>(kind: Kind): Promise<Extract<Command, { kind: Kind }>> {
  const { promise, resolve } = Promise.withResolvers<Extract<Command, { kind: Kind }>>()
  process.on('message', (command: Command) => {
    if (command.kind === kind) resolve(command as Extract<Command, { kind: Kind }>)
  })
  return promise
}

/** The worker drains then, because it is not replaced. */
async function primaryExited(): Promise<StopOptions> {
  const { worker } = cluster
  if (worker === undefined) throw new Error('this process is no worker')
  const { promise, resolve } = Promise.withResolvers<StopOptions>()
  worker.once('disconnect', () => {
    // Otherwise Node.js exits at once, with requests in flight.
    worker.exitedAfterDisconnect = true
    resolve({ drains: true })
  })
  return promise
}

function answerMetrics(server: RunningServer, log: Log): void {
  process.on('message', (command: Command) => {
    if (command.kind !== 'measure') return
    server
      .metrics()
      .catch((error: unknown) => {
        log.warn({ err: error }, 'the metrics could not be read')
        return null
      })
      .then((families) => report({ kind: 'metrics', families }))
  })
}

/** Resolves when the report is sent, or cannot be sent because the primary has exited. */
function report(message: Report): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve()
    else process.send(message, undefined, undefined, () => resolve())
  })
}

function toFailure(error: unknown, describe: (error: unknown) => string): Failure {
  return { message: describe(error), problems: error instanceof ConfigError ? error.problems : null }
}
