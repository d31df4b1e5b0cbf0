/**
 * Servers in the process of the tests. Loaded outside the modules of the test files, see `environment.ts`: what goes in and out
 * is plain data, functions and promises.
 */
import { Writable } from 'node:stream'
import { readConfig } from '../../src/config/config.ts'
import { startServer } from '../../src/server/server.ts'
import { createLog } from '../../src/telemetry/log/log.ts'
import { LogOutput } from '../../src/telemetry/log/log-output.ts'

/** How long the last lines of a log may take, in milliseconds. */
const LOG_GRACE = 1_000

/** A server in this process. */
export interface HostedServer {
  readonly baseUrl: string
  readonly listenUrl: string
  /** The lines that it has logged so far. */
  log(): string
  /** Stops it like SIGTERM. */
  stop(): Promise<void>
}

/** Starts servers. */
export interface ServerHost {
  /** Starts one with these variables, and with nothing of the environment. */
  start(environment: Readonly<Record<string, string>>): Promise<HostedServer>
}

export const SERVER_HOST: ServerHost = {
  start: async (environment) => {
    const config = readConfig({}, environment)
    let lines = ''
    const sink = new Writable({
      decodeStrings: false,
      write: (chunk, _encoding, done) => {
        lines += chunk
        done()
      },
    })
    const output = new LogOutput(sink)
    const log = createLog(config.logLevel, output)
    const server = await startServer(config, log)
    return {
      baseUrl: server.baseUrl,
      listenUrl: server.listenUrl,
      log: () => {
        output.flush()
        return lines
      },
      stop: async () => {
        await server.stop({ drains: true })
        await log.written(LOG_GRACE)
      },
    }
  },
}
