/**
 * An instance on PostgreSQL whose master key is rotated, and its servers, in the process of the test.
 */
import { generateMasterKey, parseMasterKeys } from '../../src/crypto/master-keys.ts'
import { createKeySealer, masterKeyOf } from '../../src/crypto/sealed-key.ts'
import { parseKeyAlgorithm } from '../../src/domain/keys/key-algorithm.ts'
import { type Keyturn, removeFolder, requestToken, runKeyturnInProcess, startKeyturnInProcess } from './keyturn.ts'
import type { TestPostgres } from './postgres.ts'
import { webKeyClient } from './web-key-client.ts'

/** The master key that seals everything at first, and the one that does afterwards. */
export const OLDER = generateMasterKey()
export const NEWER = generateMasterKey()

/** What is said when the older one can go. */
export const REMOVAL = `The master key ${idOf(OLDER)} seals nothing any more: remove it from every server.\n`

interface Row {
  readonly key_id: string
  readonly algorithm: string
  readonly sealed_private_key: string
}

/** An instance of one web key. */
export interface RotatedInstance {
  readonly url: string
  /** Starts a server. */
  start(masterKeys: string): Promise<Keyturn>
  stop(server: Keyturn): Promise<void>
  /** Stops all servers. */
  stopAll(): Promise<void>
  /** Runs `keyturn master-key rotate`. */
  rotate(): ReturnType<typeof runKeyturnInProcess>
  tokenOf(server: Keyturn): Promise<string>
  clientOf(server: Keyturn): Promise<ReturnType<typeof webKeyClient>>
  /** Creates a web key and returns its id. */
  createKey(server: Keyturn): Promise<string>
  /** The rows of the web keys, oldest first. */
  rows(): Promise<Row[]>
  /** The ids of the master keys that seal, one per web key, after each private key was opened with these master keys. */
  openAll(masterKeys: string): Promise<(string | null)[]>
}

/** The id of a master key. */
export function idOf(masterKey: string): string {
  return masterKey.split(':')[0]!
}

/** Has one set up by a server that has stopped again. */
export async function setUpInstance(postgres: TestPostgres): Promise<RotatedInstance> {
  const url = await postgres.createMigratedDatabase()
  const base = { KEYTURN_DATABASE_URL: url, KEYTURN_BASE_URL: 'http://localhost:1' }
  const running = new Set<Keyturn>()
  const start = async (masterKeys: string) => {
    const server = await startKeyturnInProcess({ env: { ...base, KEYTURN_MASTER_KEYS: masterKeys } })
    running.add(server)
    return server
  }
  const stop = async (server: Keyturn) => {
    running.delete(server)
    await server.stop()
    await removeFolder(server.dataDir)
  }
  const first = await start(OLDER)
  const admin = await first.admin()
  await stop(first)

  const tokenOf = (server: Keyturn) => requestToken({ ...admin, token_endpoint: `${server.listenUrl}/oauth/v2/token` })
  const clientOf = async (server: Keyturn) => webKeyClient(server.listenUrl, await tokenOf(server))
  const rows = () => postgres.query<Row>('select * from web_keys order by creation_date, key_id', [], url)
  return {
    url,
    start,
    stop,
    stopAll: async () => {
      for (const server of running) await stop(server)
    },
    rotate: () => runKeyturnInProcess(['master-key', 'rotate'], { ...base, KEYTURN_MASTER_KEYS: `${NEWER},${OLDER}` }),
    tokenOf,
    clientOf,
    createKey: async (server) => {
      const client = await clientOf(server)
      const { details } = await client.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
      return details!.keyId
    },
    rows,
    openAll: async (masterKeys) => {
      const sealer = createKeySealer(parseMasterKeys(masterKeys))
      const found = await rows()
      for (const { key_id: keyId, algorithm, sealed_private_key } of found) {
        await sealer.open(sealed_private_key, { keyId, algorithm: parseKeyAlgorithm(algorithm) })
      }
      return found.map(({ sealed_private_key }) => masterKeyOf(sealed_private_key))
    },
  }
}
