/**
 * A worker: one of several processes that serve the same port. It follows the commands of the primary, and shuts down gracefully
 * when the primary has exited.
 */
import cluster, { type Worker } from 'node:cluster'
import { setTimeout as delay } from 'node:timers/promises'
import { AggregatorRegistry } from 'prom-client'
import type { Config } from '../config/config.ts'
import { type RunningServer, type StopOptions, startServer } from '../server/server.ts'
import { stopLimit } from '../server/stop-limit.ts'
import type { ServerLog } from '../telemetry/log/log.ts'

type Command =
  /**
   * The first one, once. `port` overrides the configured one. `baseUrl` is that of the server if other workers serve the port: then this
   * worker opens it when it is ready. `socketFolder` is that of the embedded database, which the primary has started.
   */
  | {
      readonly kind: 'start'
      readonly port: number
      readonly baseUrl?: string
      readonly socketFolder: string | null
    }
  | { readonly kind: 'stop'; readonly drains: boolean }

export type Report =
  | { readonly kind: 'ready'; readonly server: ServerFacts }
  /** The start failed. The process exits. */
  | { readonly kind: 'failed'; readonly reason: string }

/** What the primary announces about the server. */
export type ServerFacts = Pick<RunningServer, 'listenUrl' | 'baseUrl' | 'initialised'>

export interface WorkerOptions {
  readonly config: Config
  readonly log: ServerLog
  readonly signalled: Promise<StopOptions>
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
  // Answers when the primary asks for metrics.
  new AggregatorRegistry()
  const stopping = new AbortController()
  const stopped = Promise.race([commandTo('stop'), primaryExited(), signalled])
  void stopped.then(() => stopping.abort())
  let server: RunningServer | undefined
  try {
    const command = await Promise.race([commandTo('start'), stopped.then(() => null)])
    if (command === null) return undefined
    const { port, baseUrl, socketFolder } = command
    const ownConfig = { ...config, listen: { ...config.listen, port }, baseUrl: baseUrl ?? config.baseUrl }
    const starting = startServer(ownConfig, log, {
      servesMetrics: false,
      socketFolder,
      opensWhenReady: baseUrl !== undefined,
      signal: stopping.signal,
    })
    starting.catch(() => {})
    // A start can be interrupted anywhere, as by a crash: nothing is served yet.
    server = await Promise.race([starting, stopped.then(() => undefined)])
  } catch (error) {
    await report({ kind: 'failed', reason: describe(error) })
    return error
  }
  if (server === undefined) return undefined
  AggregatorRegistry.setRegistries([server.metrics])
  const { listenUrl, initialised } = server
  await report({ kind: 'ready', server: { listenUrl, baseUrl: server.baseUrl, initialised } })
  const { drains = false } = await stopped
  // Nothing else ends a worker that hangs once the primary is gone.
  await Promise.race([server.stop({ drains }), delay(stopLimit(config.drainSeconds, drains))])
  return undefined
}

function commandTo<Kind extends Command['kind']>(kind: Kind): Promise<Extract<Command, { kind: Kind }>> {
  return new Promise((resolve) => {
    process.on('message', (command: Command) => {
      if (command.kind === kind) resolve(command as Extract<Command, { kind: Kind }>)
    })
  })
}

/** The worker drains then, because it is not replaced. */
function primaryExited(): Promise<StopOptions> {
  return new Promise((resolve) => {
    cluster.worker?.once('disconnect', function onDisconnect(this: Worker) {
      // Otherwise Node.js exits at once, with requests in flight.
      this.exitedAfterDisconnect = true
      resolve({ drains: true })
    })
  })
}

/** Resolves when the report is sent, or cannot be sent because the primary has exited. */
function report(message: Report): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve()
    else process.send(message, undefined, undefined, () => resolve())
  })
}
