/**
 * PgBouncer in transaction mode in front of a PostgreSQL server, if the machine has it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { eventually } from '../support/eventually.ts'
import { lastingPort } from './ports.ts'
import { databaseUser, giveTo } from './system-user.ts'

/** Where it is, if it is anywhere. Debian puts it where only root looks. */
export const PGBOUNCER = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
  .map((folder) => join(folder, 'pgbouncer'))
  .find((path) => existsSync(path))

/** A running pool. */
export interface PgBouncer {
  readonly port: number
  /** Ends it with SIGKILL and starts it again. */
  restart(): Promise<void>
  destroy(): Promise<void>
}

/** Starts a pool with few connections in front of the server on this port. */
export async function startPgBouncer(program: string, serverPort: number): Promise<PgBouncer> {
  const user = await databaseUser()
  const port = await lastingPort()
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-fault-'))
  const settings = [
    '[databases]',
    `keyturn = host=127.0.0.1 port=${serverPort} user=postgres dbname=keyturn`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'pool_mode = transaction',
    'default_pool_size = 8',
    'max_client_conn = 200',
    'auth_type = any',
  ]
  await writeFile(join(folder, 'pgbouncer.ini'), `${settings.join('\n')}\n`)
  await giveTo(user, folder)
  await giveTo(user, join(folder, 'pgbouncer.ini'))

  let child: ChildProcess | undefined
  let log = ''
  const start = async () => {
    const started = spawn(program, [join(folder, 'pgbouncer.ini')], { ...user, stdio: ['ignore', 'ignore', 'pipe'] })
    started.stderr?.on('data', (text) => {
      log = (log + text).slice(-10_000)
    })
    child = started
    await eventually(async () => {
      if (started.exitCode !== null) throw new Error(`pgbouncer ended:\n${log}`)
      await tryToConnect(port)
    })
  }
  const kill = async () => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
  await start()
  return {
    port,
    restart: async () => {
      await kill()
      await start()
    },
    destroy: async () => {
      await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function tryToConnect(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
  } finally {
    socket.destroy()
  }
}
