/**
 * A PostgreSQL server that can be stopped, killed, started again and copied, always on the same port.
 *
 * It runs without fsync: only its processes die here, never the machine, and what they have written to a file outlives
 * them. Commits are as durable against that as they would be with fsync.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { defaultOrigin, findTestPrograms, type PostgresPrograms } from '../support/postgres-programs.ts'
import { databaseUser, giveTo, type SpawnUser } from '../support/system-user.ts'

const run = promisify(execFile)

const SETTINGS = ['fsync=off', 'unix_socket_directories=', 'max_connections=100']

const HBA_OF_PLACES = 'host all all 0.0.0.0/0 trust\nhost replication all 0.0.0.0/0 trust\n'

/** Where a server runs that is not on the loopback of this machine. */
export interface Place {
  /** Its address there. */
  readonly address: string
  /** A command that runs another one there. */
  readonly enter: readonly string[]
  /** Runs SQL from there. */
  query(url: string, text: string): Promise<readonly Record<string, unknown>[]>
}

interface Site {
  readonly programs: PostgresPrograms
  readonly user: SpawnUser
  readonly folder: string
  readonly port: number
  /** Undefined: the loopback of this machine. */
  readonly place?: Place
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

  get #address(): string {
    return this.#site.place?.address ?? '127.0.0.1'
  }

  /** The URL of the database, through this port. @param port That of a proxy or a pool instead. */
  url(port: number = this.port, database = 'keyturn'): string {
    return `postgresql://postgres@${this.#address}:${port}/${database}`
  }

  /** Starts it and waits until it answers. @param settings For this time only, such as `fsync=off`. */
  async start(settings: readonly string[] = []): Promise<void> {
    const { programs, user, folder, port, place } = this.#site
    const listening = `listen_addresses=${this.#address}`
    const flags = [...SETTINGS, listening, ...settings].flatMap((setting) => ['-c', setting])
    const command = [programs.postgres, '-D', join(folder, 'data'), '-p', String(port), ...flags]
    // Only root enters a place, and PostgreSQL refuses root.
    const asUser = ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups']
    const [program = '', ...args] = place === undefined ? command : [...place.enter, ...asUser, ...command]
    await eventually(async () => {
      if (this.#process === undefined || hasEnded(this.#process)) {
        const child = spawn(program, args, {
          ...(place === undefined ? user : {}),
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

  /** Copies the server, which must be stopped cleanly, to another port or place. The copy is not started. */
  async copy(place?: Place): Promise<PostgresServer> {
    const { user } = this.#site
    const folder = await mkdtemp(join(tmpdir(), 'keyturn-fault-'))
    await giveTo(user, folder)
    await run('cp', ['-a', join(this.#site.folder, 'data'), join(folder, 'data')])
    if (place !== undefined) await appendFile(join(folder, 'data/pg_hba.conf'), HBA_OF_PLACES)
    return new PostgresServer({
      programs: await findTestPrograms(defaultOrigin(), user, folder),
      user,
      folder,
      port: await freePort(),
      ...(place === undefined ? {} : { place }),
    })
  }

  /** Makes it follow another server from its next start on, until it is promoted. */
  async follow(primary: PostgresServer, name: string): Promise<void> {
    const data = join(this.#site.folder, 'data')
    const conninfo = `host=${primary.#address} port=${primary.port} user=postgres application_name=${name}`
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
    const url = this.url(this.port, database)
    if (this.#site.place !== undefined) return (await this.#site.place.query(url, text)) as Row[]
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
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
