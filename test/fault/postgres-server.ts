/**
 * A PostgreSQL server that can be stopped, killed, started again and copied, always on the same port.
 *
 * It runs without fsync: only its processes die here, never the machine, and what they have written to a file outlives
 * them. Commits are as durable against that as they would be with fsync.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { defaultOrigin, findTestPrograms, type PostgresPrograms } from '../support/postgres-programs.ts'
import { databaseUser, giveTo, type SpawnUser } from '../support/system-user.ts'

const run = promisify(execFile)

const SETTINGS = ['fsync=off', 'unix_socket_directories=', 'listen_addresses=127.0.0.1', 'max_connections=100']

interface Site {
  readonly programs: PostgresPrograms
  readonly user: SpawnUser
  readonly folder: string
  readonly port: number
}

/** Makes an empty server with a database `keyturn`, and starts it. Everyone on this machine may log in. */
export async function createPostgresServer(): Promise<PostgresServer> {
  const user = await databaseUser()
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-fault-'))
  await giveTo(user, folder)
  const programs = await findTestPrograms(defaultOrigin(), user, folder)
  await run(
    programs.initdb,
    ['-D', join(folder, 'data'), '-U', 'postgres', '--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C'],
    { ...user, cwd: folder },
  )
  const server = new PostgresServer({ programs, user, folder, port: await freePort() })
  await server.start()
  await server.query('create database keyturn', [], 'postgres')
  return server
}

export class PostgresServer {
  readonly #site: Site
  #process: ChildProcess | undefined
  #log = ''

  constructor(site: Site) {
    this.#site = site
  }

  get port(): number {
    return this.#site.port
  }

  /** The URL of the database, through this port. @param port That of a proxy or a pool instead. */
  url(port: number = this.port, database = 'keyturn'): string {
    return `postgresql://postgres@127.0.0.1:${port}/${database}`
  }

  /** Starts it and waits until it answers. @param settings For this time only, such as `fsync=off`. */
  async start(settings: readonly string[] = []): Promise<void> {
    const { programs, user, folder, port } = this.#site
    const flags = [...SETTINGS, ...settings].flatMap((setting) => ['-c', setting])
    await eventually(async () => {
      if (this.#process === undefined || hasEnded(this.#process)) {
        const child = spawn(programs.postgres, ['-D', join(folder, 'data'), '-p', String(port), ...flags], {
          ...user,
          cwd: folder,
          stdio: ['ignore', 'ignore', 'pipe'],
        })
        child.stderr?.on('data', (text) => {
          this.#log = (this.#log + text).slice(-10_000)
        })
        this.#process = child
      }
      await this.query('select 1', [], 'postgres').catch((error: unknown) => {
        throw new Error(`PostgreSQL does not answer:\n${this.#log}`, { cause: error })
      })
    })
  }

  /** `fast` ends it cleanly, `immediate` leaves the cleaning to the next start. */
  async stop(mode: 'fast' | 'immediate'): Promise<void> {
    await this.#end(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
  }

  /** Ends it and all its processes with SIGKILL, as when its machine goes dark. */
  async kill(): Promise<void> {
    const pid = this.#process?.pid
    if (pid === undefined) return
    // Each of its processes leads a group of its own, so there is none to kill.
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
    const ended = this.#end('SIGKILL')
    for (const child of children.split(' ').filter((text) => text !== '')) {
      try {
        process.kill(Number(child), 'SIGKILL')
      } catch {
        // It has seen its parent die.
      }
    }
    await ended
  }

  /** Copies the server, which must be stopped cleanly, to another port. The copy is not started. */
  async copy(): Promise<PostgresServer> {
    const { user } = this.#site
    const folder = await mkdtemp(join(tmpdir(), 'keyturn-fault-'))
    await giveTo(user, folder)
    await run('cp', ['-a', join(this.#site.folder, 'data'), join(folder, 'data')])
    return new PostgresServer({
      programs: await findTestPrograms(defaultOrigin(), user, folder),
      user,
      folder,
      port: await freePort(),
    })
  }

  /** Makes it follow another server from its next start on, until it is promoted. */
  async follow(primary: PostgresServer, name: string): Promise<void> {
    const data = join(this.#site.folder, 'data')
    const conninfo = `host=127.0.0.1 port=${primary.port} user=postgres application_name=${name}`
    await writeFile(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`)
    await writeFile(join(data, 'standby.signal'), '')
    await giveTo(this.#site.user, join(data, 'standby.signal'))
  }

  /** Runs SQL as the administrator. */
  async query<Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    database = 'keyturn',
  ): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.url(this.port, database), connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query<Row>(text, [...values])).rows
    } finally {
      await client.end().catch(() => {})
    }
  }

  /** Ends it and removes its files. */
  async destroy(): Promise<void> {
    await this.#end('SIGQUIT')
    await rm(this.#site.folder, { recursive: true, force: true })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process
    if (child === undefined || hasEnded(child)) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined
}
