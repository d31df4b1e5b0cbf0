/**
 * A PostgreSQL cluster of three nodes that elects its leader, as `deploy/patroni` describes it: etcd, Patroni, HAProxy.
 *
 * The nodes run the configuration that is shipped. Each reaches etcd through proxies of its own, so that it can be cut off.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import pg from 'pg'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'
import { HAPROXY_PROGRAM, WITHOUT_HAPROXY } from './haproxy.ts'
import { WITHOUT_DEBIAN_POSTGRES } from './postgres-programs.ts'
import { databaseUser, giveTo, type SpawnUser } from './system-user.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

const CONFIG = join(import.meta.dirname, '../../deploy/patroni')
const ETCD = '/usr/bin/etcd'
const PATRONI = '/usr/bin/patroni'
const POSTGRES_BIN = '/usr/lib/postgresql/15/bin'
const PASSWORD = 'only-for-this-cluster'
const NODES = 3

/** Why such a cluster cannot be started; undefined if it can. */
export const WITHOUT_PATRONI =
  [ETCD, PATRONI].filter((program) => !existsSync(program)).map((program) => `there is no ${program}`)[0] ??
  WITHOUT_DEBIAN_POSTGRES ??
  WITHOUT_HAPROXY

/** What Patroni says about the nodes. */
interface Member {
  readonly name: string
  readonly role: 'leader' | 'sync_standby' | 'replica'
  readonly state: string
  readonly lag?: number | 'unknown'
}

interface NodePorts {
  readonly api: number
  readonly postgres: number
}

interface Node {
  readonly name: string
  readonly ports: NodePorts
  readonly folder: string
  patroni: ChildProcess | undefined
  etcd: readonly TcpProxy[]
}

/** Starts a cluster with an empty database `keyturn`, and waits until it has a leader, a synchronous standby and a third node. */
export async function startPatroni(): Promise<PatroniCluster> {
  const user = await databaseUser()
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-patroni-'))
  await giveTo(user, folder)
  const cluster = new PatroniCluster(user, folder)
  try {
    await cluster.start()
    return cluster
  } catch (error) {
    await cluster.destroy()
    throw error
  }
}

export class PatroniCluster {
  readonly #user: SpawnUser
  readonly #folder: string
  readonly #etcd: ChildProcess[] = []
  #etcdPorts: readonly number[] = []
  #nodes: readonly Node[] = []
  #haproxy: ChildProcess | undefined
  #port = 0
  #config = ''

  constructor(user: SpawnUser, folder: string) {
    this.#user = user
    this.#folder = folder
  }

  async start(): Promise<void> {
    // It may not be readable to `postgres` where it is.
    this.#config = join(this.#folder, 'patroni.yml')
    await copyFile(join(CONFIG, 'patroni.yml'), this.#config)
    await this.#startEtcd()
    const indexes = Array.from({ length: NODES }, (_, index) => index)
    this.#nodes = await Promise.all(
      indexes.map(async (index): Promise<Node> => {
        const name = `n${index + 1}`
        const folder = join(this.#folder, name)
        await mkdir(folder, { mode: 0o700 })
        await giveTo(this.#user, folder)
        const ports = { api: await freePort(), postgres: await freePort() }
        const etcd = await Promise.all(this.#etcdPorts.map((port) => startTcpProxy(port)))
        return { name, ports, folder, patroni: undefined, etcd }
      }),
    )
    for (const node of this.#nodes) await this.#startNode(node)
    await this.#startHaProxy()
    await this.untilHealthy()
    await this.query('create database keyturn', [], 'postgres')
  }

  /** The URL of the database, at the address that follows the leader, or at that of a proxy. */
  url(port: number = this.#port, database = 'keyturn'): string {
    return `postgresql://postgres:${PASSWORD}@127.0.0.1:${port}/${database}`
  }

  /** Runs SQL on the leader, as the administrator. */
  async query<Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    database = 'keyturn',
  ): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.url(this.#port, database), connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query<Row>(text, [...values])).rows
    } finally {
      await client.end().catch(() => {})
    }
  }

  /** Waits until all nodes run: a leader, a synchronous standby that may take over, and one more. */
  async untilHealthy(): Promise<void> {
    await eventually(async () => {
      const members = await this.#members()
      expect(members.map(({ role }) => role).sort()).toEqual(['leader', 'replica', 'sync_standby'])
      expect(members.filter(({ role, lag }) => role !== 'leader' && typeof lag !== 'number')).toEqual([])
      await this.query('select 1', [], 'postgres')
    })
  }

  /** Makes the synchronous standby the leader, in order. */
  async switchOver(): Promise<void> {
    const leader = await this.#leader()
    const candidate = (await this.#members()).find(({ role }) => role === 'sync_standby')?.name
    const response = await fetch(`http://127.0.0.1:${leader.ports.api}/switchover`, {
      method: 'POST',
      body: JSON.stringify({ leader: leader.name, candidate }),
    })
    if (!response.ok) throw new Error(`the switchover was refused: ${response.status} ${await response.text()}`)
  }

  /** Ends the leader with all its processes by SIGKILL. The returned function starts it again. */
  async killLeader(): Promise<() => Promise<void>> {
    const leader = await this.#leader()
    await signalAll(await processesOf(leader), 'SIGKILL')
    return async () => {
      await this.#startNode(leader)
    }
  }

  /** Stops all processes of the leader where they are. The returned function lets them go on. */
  async freezeLeader(): Promise<() => Promise<void>> {
    const leader = await this.#leader()
    const processes = await processesOf(leader)
    await signalAll(processes, 'SIGSTOP')
    return () => signalAll(processes, 'SIGCONT')
  }

  /** What the leader sends to etcd gets no answer any more. The returned function ends that. */
  async cutOffLeader(): Promise<() => Promise<void>> {
    const leader = await this.#leader()
    const replaceProxies = async (silent: boolean) => {
      const ports = leader.etcd.map(({ port }) => port)
      await Promise.all(leader.etcd.map((proxy) => proxy.close()))
      leader.etcd = await Promise.all(
        ports.map((port, index) => startTcpProxy(this.#etcdPorts[index] as number, port, { silent })),
      )
    }
    await replaceProxies(true)
    return () => replaceProxies(false)
  }

  /** Waits until another node than the one named leads, and returns its name. */
  async untilLedByAnother(name: string): Promise<string> {
    return eventually(async () => {
      const now = await this.leaderName()
      expect(now).not.toBe(name)
      return now
    })
  }

  /** The name of the node that has the lock of the leader and says so. @throws {Error} if there is none now. */
  async leaderName(): Promise<string> {
    return (await this.#leader()).name
  }

  /** Ends everything and removes its files. */
  async destroy(): Promise<void> {
    const processes = (await Promise.all(this.#nodes.map(processesOf))).flat()
    await signalAll(processes, 'SIGKILL')
    const others = [this.#haproxy, ...this.#etcd].filter((child) => child !== undefined)
    await Promise.all(others.map((child) => end(child, 'SIGKILL')))
    await Promise.all(this.#nodes.flatMap(({ etcd }) => etcd.map((proxy) => proxy.close())))
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }

  async #startEtcd(): Promise<void> {
    const members = await Promise.all(
      Array.from({ length: NODES }, async (_, index) => {
        const url = async () => `http://127.0.0.1:${await freePort()}`
        return { name: `e${index + 1}`, peer: await url(), client: await url() }
      }),
    )
    this.#etcdPorts = members.map(({ client }) => Number(new URL(client).port))
    const cluster = members.map(({ name, peer }) => `${name}=${peer}`).join(',')
    for (const { name, peer, client } of members) {
      const flags = {
        name,
        'data-dir': join(this.#folder, name),
        'listen-peer-urls': peer,
        'initial-advertise-peer-urls': peer,
        'listen-client-urls': client,
        'advertise-client-urls': client,
        'initial-cluster': cluster,
      }
      const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`)
      this.#etcd.push(spawn(ETCD, args, { stdio: 'ignore' }))
    }
    await eventually(async () => {
      for (const { client } of members) expect((await fetch(`${client}/health`)).status).toBe(200)
    })
  }

  async #startNode(node: Node): Promise<void> {
    const { name, ports, folder } = node
    const hosts = node.etcd.map(({ port }) => `'127.0.0.1:${port}'`).join(',')
    const env = {
      PATH: process.env.PATH ?? '',
      PATRONI_NAME: name,
      PATRONI_RESTAPI_LISTEN: `127.0.0.1:${ports.api}`,
      PATRONI_RESTAPI_CONNECT_ADDRESS: `127.0.0.1:${ports.api}`,
      PATRONI_POSTGRESQL_LISTEN: `127.0.0.1:${ports.postgres}`,
      PATRONI_POSTGRESQL_CONNECT_ADDRESS: `127.0.0.1:${ports.postgres}`,
      PATRONI_POSTGRESQL_DATA_DIR: join(folder, 'data'),
      PATRONI_POSTGRESQL_BIN_DIR: POSTGRES_BIN,
      PATRONI_POSTGRESQL_PGPASS: join(folder, 'pgpass'),
      PATRONI_ETCD3_HOSTS: hosts,
      PATRONI_SUPERUSER_PASSWORD: PASSWORD,
      PATRONI_REPLICATION_PASSWORD: PASSWORD,
      PATRONI_REWIND_PASSWORD: PASSWORD,
    }
    node.patroni = spawn(PATRONI, [this.#config], { ...this.#user, cwd: folder, env, stdio: 'ignore' })
    await eventually(async () => {
      const answer = await fetch(`http://127.0.0.1:${ports.api}/patroni`)
      expect([200, 503]).toContain(answer.status)
    })
  }

  async #startHaProxy(): Promise<void> {
    this.#port = await freePort()
    const addresses = this.#nodes.flatMap(({ ports }, index) => [
      [`POSTGRES_${index + 1}`, `127.0.0.1:${ports.postgres}`],
      [`PATRONI_${index + 1}`, String(ports.api)],
    ])
    const env = { LISTEN: `127.0.0.1:${this.#port}`, ...Object.fromEntries(addresses) }
    this.#haproxy = spawn(HAPROXY_PROGRAM, ['-db', '-f', join(CONFIG, 'haproxy.cfg')], { env, stdio: 'ignore' })
  }

  /** As the first node that answers knows them. */
  async #members(): Promise<readonly Member[]> {
    const errors: unknown[] = []
    for (const { ports } of this.#nodes) {
      try {
        const answer = await fetch(`http://127.0.0.1:${ports.api}/cluster`, { signal: AbortSignal.timeout(1_000) })
        return ((await answer.json()) as { members: Member[] }).members
      } catch (error) {
        errors.push(error)
      }
    }
    throw new AggregateError(errors, 'no node of the cluster answers')
  }

  async #leader(): Promise<Node> {
    for (const node of this.#nodes) {
      const status = await fetch(`http://127.0.0.1:${node.ports.api}/primary`, { signal: AbortSignal.timeout(1_000) })
        .then((answer) => answer.status)
        .catch(() => 0)
      if (status === 200) return node
    }
    throw new Error('the cluster has no leader')
  }
}

/** The process ids of a node: Patroni, PostgreSQL and its children. */
async function processesOf({ patroni, folder }: Node): Promise<readonly number[]> {
  const postmaster = await readFile(join(folder, 'data/postmaster.pid'), 'utf8').catch(() => '')
  const pid = Number(postmaster.split('\n')[0])
  const isRunning = patroni?.pid !== undefined && patroni.exitCode === null && patroni.signalCode === null
  const parents = [...(isRunning ? [patroni.pid as number] : []), ...(pid > 0 ? [pid] : [])]
  const children = await Promise.all(
    parents.map((parent) => readFile(`/proc/${parent}/task/${parent}/children`, 'utf8').catch(() => '')),
  )
  const named = children.flatMap((list) => list.split(' ').filter((text) => text !== ''))
  return [...new Set([...parents, ...named.map(Number)])]
}

async function signalAll(processes: readonly number[], signal: NodeJS.Signals): Promise<void> {
  for (const pid of processes) {
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended, as the children of PostgreSQL do when that dies.
    }
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}
