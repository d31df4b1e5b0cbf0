/**
 * Several Keyturn processes on one database, which issue tokens in one name, as behind a load balancer.
 */
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { freePort } from '../support/free-port.ts'
import { heldMebibytes, INSPECTABLE } from '../support/held-memory.ts'
import { type KeyturnProcess, removeFolder, startKeyturn, temporaryFolder } from '../support/keyturn.ts'

/** How long verifiers may reuse the key set, in seconds. */
export const MAX_AGE_SECONDS = 1
/** How long tokens live, in seconds. */
export const TOKEN_LIFETIME_SECONDS = 3

const SETTINGS = {
  KEYTURN_JWKS_MAX_AGE: String(MAX_AGE_SECONDS),
  KEYTURN_TOKEN_LIFETIME: String(TOKEN_LIFETIME_SECONDS),
  KEYTURN_MAX_WEB_KEYS: '200',
  KEYTURN_ACTIVATION_GUARD: 'enforce',
  KEYTURN_LOG_LEVEL: 'warn',
  ...INSPECTABLE,
}

/** One process, or the place of it while it is dead. */
export class Replica {
  readonly name: string
  readonly url: string
  readonly #start: () => Promise<KeyturnProcess>
  #keyturn: KeyturnProcess | undefined
  #output = ''
  #wanted = false
  /** Processes that ended without being told to. */
  unexpectedExits: string[] = []

  constructor(name: string, url: string, start: () => Promise<KeyturnProcess>) {
    this.name = name
    this.url = url
    this.#start = start
  }

  get running(): boolean {
    return this.#keyturn !== undefined
  }

  /** Everything that its processes have printed. */
  get output(): string {
    return this.#output + textOf(this.#keyturn)
  }

  /** What its process holds, in MiB. @throws {Error} while it is dead. */
  async heldMebibytes(): Promise<number> {
    if (this.#keyturn === undefined) throw new Error(`replica ${this.name} does not run`)
    return heldMebibytes(this.#keyturn)
  }

  async start(): Promise<KeyturnProcess> {
    const keyturn = await this.#start()
    this.#wanted = true
    this.#keyturn = keyturn
    keyturn.process.once('exit', (code, signal) => {
      if (this.#wanted) this.unexpectedExits.push(`replica ${this.name} ended with ${code ?? signal}`)
    })
    return keyturn
  }

  /** Ends it with SIGKILL. */
  async kill(): Promise<void> {
    const keyturn = this.#keyturn
    this.#wanted = false
    this.#keyturn = undefined
    await keyturn?.kill()
    this.#output += textOf(keyturn)
    if (keyturn !== undefined) await removeFolder(keyturn.dataDir)
  }

  /** Tells it to stop, and says how it ended. */
  async stop(): Promise<number | null> {
    const keyturn = this.#keyturn
    this.#wanted = false
    this.#keyturn = undefined
    const code = (await keyturn?.stop()) ?? null
    this.#output += textOf(keyturn)
    if (keyturn !== undefined) await removeFolder(keyturn.dataDir)
    return code
  }
}

/** All processes, and who administers them. */
export interface Replicas {
  readonly all: readonly Replica[]
  /** The issuer of the tokens of all of them. */
  readonly issuer: string
  readonly admin: { readonly clientId: string; readonly clientSecret: string }
  kill(): Promise<void>
}

/** What differs from scenario to scenario. */
export interface ReplicasOptions {
  readonly databaseUrl: string
  readonly env?: Readonly<Record<string, string>>
  /** More variables for the second and the third replica. */
  readonly envOf?: { readonly b?: Readonly<Record<string, string>>; readonly c?: Readonly<Record<string, string>> }
}

/** Starts three replicas, the first one alone, because it sets the instance up. Kill them at the end. */
export async function startReplicas({ databaseUrl, env = {}, envOf = {} }: ReplicasOptions): Promise<Replicas> {
  const ports = [await freePort(), await freePort(), await freePort()] as const
  const issuer = `http://localhost:${ports[0]}`
  const settings = {
    ...SETTINGS,
    KEYTURN_DATABASE_URL: databaseUrl,
    KEYTURN_MASTER_KEYS: generateMasterKey(),
    KEYTURN_BASE_URL: issuer,
    ...env,
  }
  const replicaAt = (name: string, port: number, more: Readonly<Record<string, string>> = {}) =>
    new Replica(name, `http://127.0.0.1:${port}`, async () =>
      startKeyturn({
        dataDir: await temporaryFolder(),
        env: { ...settings, KEYTURN_LISTEN: `127.0.0.1:${port}`, ...more },
      }),
    )
  const first = replicaAt('a', ports[0])
  const others = [replicaAt('b', ports[1], envOf.b), replicaAt('c', ports[2], envOf.c)]
  const all = [first, ...others]
  const kill = async () => {
    await Promise.all(all.map((replica) => replica.kill()))
  }
  try {
    const { client_id: clientId, client_secret: clientSecret } = await (await first.start()).admin()
    await Promise.all(others.map((replica) => replica.start()))
    return { all, issuer, admin: { clientId, clientSecret }, kill }
  } catch (error) {
    await kill()
    throw error
  }
}

function textOf(keyturn: KeyturnProcess | undefined): string {
  if (keyturn === undefined) return ''
  const { stdout, stderr } = keyturn.output()
  return stdout + stderr
}
