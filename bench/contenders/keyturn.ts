/**
 * Keyturn as its users run it: through its command line, with its default settings, which include metrics and a log line
 * for each request.
 */
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deriveKeys } from '../../src/crypto/integrity-key.ts'
import { generateMasterKey, parseMasterKeys } from '../../src/crypto/master-keys.ts'
import { createKeySealer } from '../../src/crypto/sealed-key.ts'
import type { TestPostgres } from '../../test/support/postgres.ts'
import { childrenOf } from '../../test/support/proc.ts'
import { type Program, startProgram } from '../processes/program.ts'
import { Administrator } from './administrator.ts'
import { insertDerivedClients, PROJECT_NAME } from './clients.ts'
import { type Algorithm, type Contender, type Credentials, USUAL_CLIENTS } from './contender.ts'
import type { Place } from './references.ts'

const ROOT = join(import.meta.dirname, '../..')

/** What `npm start` runs: `node`, flags, and the program. */
const [, ...START] = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).scripts.start.split(' ') as string[]
export const FLAGS = START.filter((word) => word.startsWith('--'))
export const MAIN = join(ROOT, 'src/cli/keyturn.js')

/** What all replicas of an instance share. */
export interface InstanceSettings {
  /** PostgreSQL; without it the database is embedded. */
  readonly databaseUrl?: string
  readonly masterKey?: string
  readonly baseUrl?: string
  /** Variables on top of the defaults. */
  readonly env?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
  /** An existing data directory. */
  readonly dataDir?: string
}

/** A running Keyturn, and its first administrator. */
export interface Keyturn extends Program {
  readonly dataDir: string
  readonly tokenUrl: string
  readonly keySetUrl: string
  readonly issuer: string
  /** The process and its workers. */
  pids(): readonly number[]
  admin(): Promise<Credentials>
}

/** Settings of an empty instance on a database, for all its replicas. Each is reached at an address of its own. */
export function postgresInstance(databaseUrl: string): InstanceSettings & { readonly masterKey: string } {
  return { databaseUrl, masterKey: generateMasterKey(), baseUrl: 'http://localhost:1' }
}

/** Puts the derived clients into the database of an instance that is set up. */
export async function insertClients(
  count: number,
  { databaseUrl, masterKey }: { readonly databaseUrl: string; readonly masterKey: string },
  postgres: Pick<TestPostgres, 'query'>,
): Promise<void> {
  const [row] = await postgres.query<{ sealed: string }>(
    'select sealed_integrity_key as sealed from instance',
    [],
    databaseUrl,
  )
  if (row === undefined) throw new Error('the instance is not set up')
  const sealer = createKeySealer(parseMasterKeys(masterKey))
  const { clientSecrets } = await sealer.use(row.sealed, { kind: 'integrity_key' }, deriveKeys)
  for (const statement of insertDerivedClients(count, clientSecrets)) await postgres.query(statement, [], databaseUrl)
}

/** Starts a server and waits until it listens. */
export async function startKeyturn(settings: InstanceSettings, { folder, cleanup }: Place): Promise<Keyturn> {
  const dataDir = settings.dataDir ?? (await mkdtemp(join(folder, 'keyturn-')))
  const program = await startProgram({
    script: MAIN,
    flags: FLAGS,
    args: ['serve', ...(settings.args ?? [])],
    logFile: join(dataDir, 'log'),
    env: {
      KEYTURN_LISTEN: '127.0.0.1:0',
      KEYTURN_METRICS_LISTEN: '127.0.0.1:0',
      KEYTURN_DRAIN_SECONDS: '0',
      KEYTURN_DATA_DIR: dataDir,
      ...(settings.databaseUrl === undefined ? {} : { KEYTURN_DATABASE_URL: settings.databaseUrl }),
      ...(settings.masterKey === undefined ? {} : { KEYTURN_MASTER_KEYS: settings.masterKey }),
      ...(settings.baseUrl === undefined ? {} : { KEYTURN_BASE_URL: settings.baseUrl }),
      ...settings.env,
    },
  })
  cleanup.add(program.stop)
  return {
    ...program,
    dataDir,
    tokenUrl: `${program.url}/oauth/v2/token`,
    keySetUrl: `${program.url}/.well-known/openid-configuration/jwks`,
    issuer: settings.baseUrl ?? program.url.replace('127.0.0.1', 'localhost'),
    pids: () => [program.pid, ...childrenOf(program.pid)],
    admin: async () => {
      const file = JSON.parse(await readFile(join(dataDir, 'admin.json'), 'utf8'))
      return { clientId: file.client_id, clientSecret: file.client_secret }
    },
  }
}

/** Starts an instance of its own, which signs with this algorithm and has the usual number of clients. */
export async function startKeyturnContender(
  name: string,
  algorithm: Algorithm,
  options: { readonly settings: InstanceSettings; readonly place: Place },
): Promise<Contender> {
  const keyturn = await startKeyturn(options.settings, options.place)
  const administrator = new Administrator(keyturn, await keyturn.admin())
  await administrator.signWith(algorithm)
  const clients = await administrator.createClients(PROJECT_NAME, USUAL_CLIENTS)
  const { url, tokenUrl, keySetUrl, issuer } = keyturn
  return { name, pids: keyturn.pids(), url, tokenUrl, keySetUrl, issuer, clients }
}
