/**
 * A server for the conformance suite, set up through the command line as an operator does for FAPI 2.0 (docs/conformance.md). Keys,
 * certificates and data are made for each run and removed after it.
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { removeFolder, runKeyturn, startKeyturn, temporaryFolder } from '../support/keyturn.ts'

const TLS = join(import.meta.dirname, '../support/tls')
const CERTIFICATE = join(TLS, 'first.cert.pem')
const PROJECT = 'fapi'
/** For calls of Keyturn's API, which is the protected resource. */
const SCOPE = 'urn:service:iam:org:project:id:service:aud'

/** The signature algorithms of FAPI 2.0 Security Profile §5.4.1, and how their keys are made. */
const KEY_PAIRS = {
  PS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
}

/** An algorithm of assertions and DPoP proofs. */
export type Algorithm = keyof typeof KEY_PAIRS

/** A service user, as the configuration of the suite has it. */
export interface SuiteClient {
  readonly client_id: string
  readonly scope: string
  /** With the private key. */
  readonly jwks: { readonly keys: readonly object[] }
  readonly dpop_signing_alg: Algorithm
}

/** A running server. */
export interface Instance {
  readonly baseUrl: string
  /** Makes a service user that gets bound tokens only. */
  addClient(algorithm: Algorithm): Promise<SuiteClient>
  stop(): Promise<void>
}

/** Starts a server. */
export async function startInstance(): Promise<Instance> {
  const folder = await temporaryFolder()
  const server = await startKeyturn({
    dataDir: folder,
    makesDatabase: true,
    env: { KEYTURN_TLS_CERT_FILE: CERTIFICATE, KEYTURN_TLS_KEY_FILE: join(TLS, 'first.key.pem') },
  })
  const stop = async () => {
    await server.stop()
    await removeFolder(folder)
  }
  try {
    await signWithEcdsa(folder)
    await run(folder, 'projects', 'create', PROJECT)
  } catch (error) {
    await stop()
    throw error
  }
  return { baseUrl: server.baseUrl, addClient: (algorithm) => addClient(folder, algorithm), stop }
}

/** The first key of an instance signs with PKCS #1 v1.5, which FAPI 2.0 Security Profile §5.4.1 does not allow. */
async function signWithEcdsa(folder: string): Promise<void> {
  const { webKey } = await run<{ webKey: { keyId: string } }>(folder, 'keys', 'create', 'ecdsa', '--yes')
  await run(folder, 'keys', 'activate', webKey.keyId)
}

async function addClient(folder: string, algorithm: Algorithm): Promise<SuiteClient> {
  const name = randomUUID()
  const created = await run<{ serviceUser: { clientId: string } }>(
    folder,
    ...['users', 'create', name, '--project', PROJECT],
  )
  const { clientId } = created.serviceUser
  const { privateKey, publicKey } = KEY_PAIRS[algorithm]()
  // With `alg` in the public key Keyturn takes no other algorithm from it.
  const members = { kid: name, alg: algorithm, use: 'sig' }
  const file = join(folder, `${name}.json`)
  await writeFile(file, JSON.stringify({ ...publicKey.export({ format: 'jwk' }), ...members }))
  await run(folder, 'users', 'keys', 'add', clientId, file)
  await run(folder, 'users', 'grant', clientId, '--instance-role', 'IAM_OWNER_VIEWER')
  await run(folder, 'users', 'bound-tokens', clientId, 'required')
  return {
    client_id: clientId,
    scope: SCOPE,
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), ...members }] },
    dpop_signing_alg: algorithm,
  }
}

/** Runs a command as the first administrator, and returns what it prints. */
async function run<T>(folder: string, ...args: readonly string[]): Promise<T> {
  const env = { KEYTURN_CREDENTIALS: join(folder, 'admin.json'), KEYTURN_CA_FILE: CERTIFICATE }
  const { code, stdout, stderr } = await runKeyturn([...args, '--json'], env)
  if (code !== 0) throw new Error(`keyturn ${args.join(' ')}: ${stderr}`)
  return JSON.parse(stdout)
}
