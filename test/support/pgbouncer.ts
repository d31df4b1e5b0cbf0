/**
 * A real pgbouncer in transaction mode in front of a test server: each transaction may get another connection.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'

const BINARY = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'].find((path) =>
  existsSync(path),
)

/** Why tests that need pgbouncer cannot run here; undefined if they can. */
export const WITHOUT_PGBOUNCER = BINARY === undefined ? 'pgbouncer is not installed' : undefined

/** pgbouncer refuses to be root, so it runs as whoever has no rights. */
const NOBODY = 65_534

/** A running pgbouncer. */
export interface PgBouncer {
  /** The URL of the same database through pgbouncer. */
  readonly url: string
  /** May be called twice. */
  stop(): Promise<void>
}

/** Starts pgbouncer on a free port, with so few connections to the server that transactions share them. */
export async function startPgBouncer(url: string): Promise<PgBouncer> {
  if (BINARY === undefined) throw new Error(WITHOUT_PGBOUNCER)
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-pgbouncer-'))
  const { username, password, port: serverPort } = new URL(url)
  const port = await freePort()
  const ini = [
    '[databases]',
    `* = host=127.0.0.1 port=${serverPort} user=${username} password=${password}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    'default_pool_size = 2',
    'server_check_query = select 1',
  ].join('\n')
  const iniFile = join(folder, 'pgbouncer.ini')
  await writeFile(iniFile, `${ini}\n`, { mode: 0o600 })
  const isRoot = process.getuid?.() === 0
  if (isRoot) {
    await chown(iniFile, NOBODY, NOBODY)
    await chmod(folder, 0o711)
  }
  const child = spawn(BINARY, [iniFile], {
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}),
  })
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  const exited = once(child, 'exit')
  const through = new URL(url)
  through.port = String(port)
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended:\n${output}`)
    const client = new pg.Client({ connectionString: through.href })
    client.on('error', () => {})
    await client.connect()
    await client.end()
  })
  let stopping: Promise<void> | undefined
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
    await rm(folder, { recursive: true, force: true })
  }
  return {
    url: through.href,
    stop: () => {
      stopping ??= stop()
      return stopping
    },
  }
}
