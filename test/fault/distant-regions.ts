/**
 * Regions on one machine: each has a PostgreSQL server, a Keyturn replica on it, and a client, in a network namespace of its own.
 *
 * The first region has the primary, the others have standbys that follow it over wires with delay and loss.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { KeyturnProcess } from '../support/keyturn.ts'
import { makeNetwork, type Namespace, type Network } from '../support/network/namespaces.ts'
import { createPostgresServer, type Place, type PostgresServer } from './postgres-server.ts'
import type { RegionAnswer, RegionRequest } from './region-worker.ts'

const WORKER = join(import.meta.dirname, 'region-worker.ts')

type AnswerTo<Kind extends RegionRequest['kind']> = Extract<RegionAnswer, { kind: Kind }>

/** A client inside a region. */
export class RegionClient {
  readonly #worker: ChildProcess
  readonly #waiting = new Map<number, (answer: RegionAnswer) => void>()
  #requests = 0

  constructor({ enter }: Namespace) {
    const [program = '', ...args] = [...enter, process.execPath, '--disable-warning=ExperimentalWarning', WORKER]
    this.#worker = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    createInterface(this.#worker.stdout!).on('line', (line) => {
      const { id, answer } = JSON.parse(line) as { id: number; answer: RegionAnswer }
      this.#waiting.get(id)?.(answer)
      this.#waiting.delete(id)
    })
  }

  /** @throws {Error} what went wrong there. */
  async ask<Request extends RegionRequest>(request: Request): Promise<AnswerTo<Request['kind']>> {
    this.#requests += 1
    const id = this.#requests
    const answered = new Promise<RegionAnswer>((resolve) => this.#waiting.set(id, resolve))
    this.#worker.stdin?.write(`${JSON.stringify({ id, request })}\n`)
    const answer = await answered
    if (answer.kind === 'error') throw new Error(answer.message)
    return answer as AnswerTo<Request['kind']>
  }

  end(): void {
    this.#worker.kill('SIGKILL')
  }
}

/** One region. */
export interface Region {
  readonly name: string
  readonly namespace: Namespace
  readonly client: RegionClient
  readonly database: PostgresServer
  keyturn: KeyturnProcess | undefined
}

/** Regions, the first of them with the primary. */
export interface Regions {
  readonly network: Network
  readonly all: readonly Region[]
  remove(): Promise<void>
}

/** Makes regions with running databases, whose wires are perfect at first. Remove them at the end. */
export async function makeRegions(names: readonly string[]): Promise<Regions> {
  const network = await makeNetwork(names.length)
  const all: Region[] = []
  const remove = async () => {
    for (const { keyturn, client, database } of all) {
      await keyturn?.kill()
      await database.destroy()
      client.end()
    }
    await network.remove()
  }
  try {
    for (const [index, one] of network.namespaces.entries())
      for (const other of network.namespaces.slice(index + 1)) network.connect(one, other, { roundTrip: 0, loss: 0 })
    const template = await createPostgresServer()
    await template.stop('fast')
    for (const [index, name] of names.entries()) {
      const namespace = network.namespaces[index] as Namespace
      const client = new RegionClient(namespace)
      const place: Place = {
        ...namespace,
        query: async (url, text) => (await client.ask({ kind: 'sql', url, text })).rows,
      }
      all.push({ name, namespace, client, database: await template.copy(place), keyturn: undefined })
    }
    await template.destroy()
    const [home, ...others] = all
    await home?.database.start()
    for (const { name, database } of others) {
      await database.follow(home!.database, name)
      await database.start()
    }
    return { network, all, remove }
  } catch (error) {
    await remove()
    throw error
  }
}
