/**
 * A real pgbouncer in transaction mode in front of a test server: each transaction may get another connection.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/free-port.ts'
import { databaseUser, giveTo } from '../../support/system-user.ts'

const BINARY = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'].find((path) =>
  existsSync(path),
)

/** Why tests that need pgbouncer cannot run here; undefined if they can. */
export const WITHOUT_PGBOUNCER = BINARY === undefined ? 'pgbouncer is not installed' : undefined

/** A running pgbouncer. */
export interface PgBouncer {
  /** The URL of the same database through pgbouncer. */
  readonly url: string
  /** Ends it with SIGKILL and starts it again. */
  restart(): Promise<void>
  /** May be called twice. */
  stop(): Promise<void>
}

/**
 * Starts pgbouncer on a free port.
 *
 * @param poolSize Connections to the server. Two are so few that transactions share them.
 */
export async function startPgBouncer(url: string, { poolSize = 2 } = {}): Promise<PgBouncer> {
  if (BINARY === undefined) throw new Error(WITHOUT_PGBOUNCER)
  const binary = BINARY
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-pgbouncer-'))
  const { username, password, port: serverPort } = new URL(url)
  const port = await freePort()
  const ini = [
    '[databases]',
    `* = host=127.0.0.1 port=${serverPort} user=${username}${password === '' ? '' : ` password=${password}`}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${poolSize}`,
    'max_client_conn = 200',
    'server_check_query = select 1',
  ].join('\n')
  const iniFile = join(folder, 'pgbouncer.ini')
  await writeFile(iniFile, `${ini}\n`, { mode: 0o600 })
  const user = await databaseUser()
  for (const path of [folder, iniFile]) await giveTo(user, path)
  const through = new URL(url)
  through.port = String(port)

  const start = async () => {
    const child = spawn(binary, [iniFile], { ...user, stdio: ['ignore', 'ignore', 'pipe'] })
    let output = ''
    child.stderr?.on('data', (chunk) => {
      output = (output + chunk).slice(-10_000)
    })
    const exited = once(child, 'exit')
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`pgbouncer ended:\n${output}`)
      const client = new pg.Client({ connectionString: through.href })
      client.on('error', () => {})
      await client.connect()
      await client.end()
    })
    return async (signal: NodeJS.Signals) => {
      child.kill(signal)
      await exited
    }
  }
  let end = await start()
  return {
    url: through.href,
    restart: async () => {
      await end('SIGKILL')
      end = await start()
    },
    stop: async () => {
      await end('SIGTERM')
      await rm(folder, { recursive: true, force: true })
    },
  }
}
