/**
 * `keyturn demo`: a key rotation through a real server in this process, with a database in a temporary folder.
 *
 * Each step is checked; the first one that does not hold ends the demo with an error.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { readConfig } from '../../config/read-config.ts'
import type { Io } from '../io.ts'
import { playDemo } from './demo-steps.ts'
import { firstSignal } from './signals.ts'

/** The command. */
export function demoCommand(io: Io): Command {
  return new Command('demo').action(async () => {
    // Loaded here, not above: commands that talk to a server start twice as fast without one inside.
    const [{ startServer }, { openLog }] = await Promise.all([
      import('../../server/server.ts'),
      import('../../telemetry/log/log.ts'),
    ])
    const interrupted = new AbortController()
    void firstSignal().then((signal) => interrupted.abort(new Error(`interrupted by ${signal}`)))
    const dataDir = await mkdtemp(join(tmpdir(), 'keyturn-demo-'))
    // The environment is ignored.
    const config = {
      ...readConfig({ KEYTURN_LISTEN: '127.0.0.1:0', KEYTURN_DATA_DIR: dataDir, KEYTURN_LOG_LEVEL: 'error' }, {}),
      metricsListen: null,
      // The demo waits for caches to expire.
      jwksMaxAgeSeconds: 1,
      activationGuard: 'enforce',
    } as const
    try {
      const server = await startServer(config, openLog(config.logLevel), { signal: interrupted.signal })
      try {
        io.stdout.write(`Keyturn listens on ${server.listenUrl}, with a database in a temporary folder.\n`)
        const { credentialsFile, jwksMaxAgeSeconds } = config
        const say = (line: string) => io.stdout.write(`${line}\n`)
        await Promise.race([playDemo({ credentialsFile, jwksMaxAgeSeconds, say }), rejectionOf(interrupted.signal)])
        io.stdout.write('Every step held.\n')
      } finally {
        await server.stop()
      }
    } finally {
      await rm(dataDir, { recursive: true, force: true })
    }
  })
}

/** Rejects when the signal is aborted. */
function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
