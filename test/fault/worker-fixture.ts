/**
 * `keyturn serve --workers` as tests see it: a first process, its workers, and clients that are closed at the end.
 */
import { once } from 'node:events'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { expect } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { type KeyturnProcess, removeFolder, startKeyturn } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import { childrenOf, isRunning } from '../support/proc.ts'
import { NOT_LINUX } from '../support/unless.ts'

/** One server of several workers at a time, on a database of its own. */
export class WorkerFixture {
  readonly #postgres = sharedPostgres()
  #server: KeyturnProcess | undefined
  #metricsUrl = ''
  /** Variables of the server. */
  env: Record<string, string> = {}
  /** The processes of the workers, on Linux; those that still run are killed at the end. */
  workers: number[] = []
  /** Closed at the end. */
  readonly clients: { destroy(): void }[] = []

  /** Makes the database. */
  async begin(): Promise<void> {
    this.env = {
      KEYTURN_DATABASE_URL: await this.#postgres.createDatabase(),
      KEYTURN_MASTER_KEYS: generateMasterKey(),
    }
  }

  /** Ends all that was started since `begin`. */
  async end(): Promise<void> {
    for (const client of this.clients.splice(0)) client.destroy()
    await this.#server?.kill()
    for (const pid of this.workers.splice(0)) if (isRunning(pid)) process.kill(pid, 'SIGKILL')
    if (this.#server !== undefined) await removeFolder(this.#server.dataDir)
    this.#server = undefined
    await this.#postgres.stop()
  }

  /** Starts the server and waits until all its workers serve. */
  async start(
    count: number,
    settings: Record<string, string> = {},
    options: { readonly leadsGroup?: boolean } = {},
  ): Promise<KeyturnProcess> {
    const server = await this.startFirst(count, settings, options)
    await this.untilRunning(count)
    return server
  }

  /** Starts the server and waits until its first worker serves. */
  async startFirst(
    count: number,
    settings: Record<string, string> = {},
    options: { readonly leadsGroup?: boolean } = {},
  ): Promise<KeyturnProcess> {
    const metrics = `127.0.0.1:${await freePort()}`
    this.#server = await startKeyturn({
      env: { ...this.env, KEYTURN_METRICS_LISTEN: metrics, ...settings },
      args: ['--workers', String(count)],
      ...options,
    })
    this.#metricsUrl = `http://${metrics}/metrics`
    return this.#server
  }

  async metricsText(): Promise<string> {
    return (await fetch(this.#metricsUrl)).text()
  }

  async untilRunning(count: number): Promise<void> {
    await eventually(async () => {
      expect(await this.metricsText()).toContain(`keyturn_workers{state="running"} ${count}\n`)
    })
    if (NOT_LINUX === undefined && this.#server !== undefined) this.workers = childrenOf(pidOf(this.#server))
  }

  /** A request whose head a worker has read and whose body it waits for. */
  async beginRequest({ listenUrl }: KeyturnProcess, form: string) {
    const request = http.request(new URL('/oauth/v2/token', listenUrl), {
      method: 'POST',
      agent: new http.Agent(),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': form.length,
        expect: '100-continue',
      },
    })
    this.clients.push(request)
    const response = once(request, 'response') as Promise<[http.IncomingMessage]>
    response.catch(() => {})
    request.flushHeaders()
    await once(request, 'continue')
    return { request, response }
  }
}

/** The first process, which starts the workers. */
export function pidOf({ process }: KeyturnProcess): number {
  return process.pid ?? Number.NaN
}

/** A token request of the administrator. */
export async function formOf(running: KeyturnProcess): Promise<string> {
  const { client_id, client_secret } = await running.admin()
  return String(new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }))
}

/** A request on a connection of its own. */
export async function getFresh(url: string): Promise<number | undefined> {
  const [response] = (await once(http.get(url, { agent: false }), 'response')) as [http.IncomingMessage]
  await text(response)
  return response.statusCode
}
