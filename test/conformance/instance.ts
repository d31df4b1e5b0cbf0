/**
 * A server for the conformance suite, set up through the command line as an operator does for FAPI 2.0 (docs/conformance.md), and a service
 * behind it. Keys of clients, their certificates and all data are made for each run and removed after it.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { authorityOf, certificateOf, type TestCertificate } from '../support/certificates.ts'
import { removeFolder, runKeyturn, startKeyturn, temporaryFolder } from '../support/keyturn.ts'
import { newSuiteKey, type SuiteKey } from './keys.ts'
import { startResourceServer } from './resource-server.ts'

const TLS = join(import.meta.dirname, '../support/tls')
const CERTIFICATE = join(TLS, 'first.cert.pem')
const PRIVATE_KEY = join(TLS, 'first.key.pem')
const PROJECT = 'fapi'

/** How a client authenticates and to what its tokens are bound, by the names of the suite, and with which kind of key. */
export interface ClientChoice {
  readonly clientAuthType: 'private_key_jwt' | 'mtls'
  readonly senderConstrain: 'dpop' | 'mtls'
  readonly algorithm: SuiteKey['algorithm']
}

/** A protected resource: a method of Keyturn's API that only reads, or a service with the middleware of `@keyturn/verify`. */
export type Resource = 'API' | '@keyturn/verify'

/** A running server. */
export interface Instance {
  readonly baseUrl: string
  /** Their addresses, for requests by GET. */
  readonly resources: Readonly<Record<Resource, string>>
  /** Makes two service users that get bound tokens only, as the configuration of the suite has them. */
  addClients(choice: ClientChoice): Promise<Readonly<Record<'client' | 'client2' | 'mtls' | 'mtls2', object>>>
  stop(): Promise<void>
}

/** Starts a server. */
export async function startInstance(): Promise<Instance> {
  const folder = await temporaryFolder()
  const authority = authorityOf('fapi')
  const authorities = join(folder, 'authorities.pem')
  await writeFile(authorities, authority.pem)
  const server = await startKeyturn({
    dataDir: folder,
    makesDatabase: true,
    env: {
      KEYTURN_TLS_CERT_FILE: CERTIFICATE,
      KEYTURN_TLS_KEY_FILE: PRIVATE_KEY,
      KEYTURN_MTLS: 'tls',
      KEYTURN_MTLS_CA_FILE: authorities,
    },
  })
  const { baseUrl } = server
  const stop = async () => {
    await server.stop()
    await removeFolder(folder)
  }
  try {
    await signWithEcdsa(folder)
    const { project } = await run<{ project: { projectId: string } }>(folder, 'projects', 'create', PROJECT)
    setDefaultCACertificates([...getCACertificates('default'), await readFile(CERTIFICATE, 'utf8')])
    const tls = { certFile: CERTIFICATE, keyFile: PRIVATE_KEY }
    const service = await startResourceServer(baseUrl, project.projectId, tls)
    return {
      baseUrl,
      resources: {
        API: `${baseUrl}/iam.webkey.v2.WebKeyService/ListWebKeys?connect=v1&encoding=json&base64=1&message=e30`,
        '@keyturn/verify': service.url,
      },
      addClients: (choice) => addClients({ folder, authority, projectId: project.projectId }, choice),
      stop: async () => {
        service.stop()
        await stop()
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The first key of an instance signs with PKCS #1 v1.5, which FAPI 2.0 Security Profile §5.4.1 does not allow. */
async function signWithEcdsa(folder: string): Promise<void> {
  const { webKey } = await run<{ webKey: { keyId: string } }>(folder, 'keys', 'create', 'ecdsa', '--yes')
  await run(folder, 'keys', 'activate', webKey.keyId)
}

interface Setting {
  readonly folder: string
  /** Whom the server trusts to name clients. */
  readonly authority: TestCertificate
  readonly projectId: string
}

async function addClients(setting: Setting, choice: ClientChoice): ReturnType<Instance['addClients']> {
  const { folder, authority } = setting
  // As `tls_client_auth` and as `self_signed_tls_client_auth` authenticate.
  const named = certificateOf({ issuer: authority, subject: [['CN', 'named']], dns: ['client.example.com'] })
  const selfSigned = certificateOf({ subject: [['CN', 'self-signed']] })
  const file = join(folder, 'self-signed.pem')
  await writeFile(file, selfSigned.pem)
  return {
    client: await addClient(setting, choice, ['--dns', 'client.example.com']),
    mtls: { cert: named.pem, key: named.keyPem, ca: authority.pem },
    client2: await addClient(setting, choice, ['--file', file]),
    mtls2: { cert: selfSigned.pem, key: selfSigned.keyPem },
  }
}

/** @param certificate The options that say by which certificate it authenticates, if it does. */
async function addClient(
  { folder, projectId }: Setting,
  { clientAuthType, senderConstrain, algorithm }: ClientChoice,
  certificate: readonly string[],
): Promise<object> {
  const keyturn = <T>(...args: readonly string[]) => run<T>(folder, ...args)
  const key = newSuiteKey(algorithm)
  const created = await keyturn<{ serviceUser: { clientId: string } }>('users', 'create', key.id, '--project', PROJECT)
  const { clientId } = created.serviceUser
  if (clientAuthType === 'mtls') await keyturn('users', 'certificates', 'add', clientId, ...certificate)
  else {
    const file = join(folder, `${key.id}.json`)
    await writeFile(file, JSON.stringify(key.publicJwk))
    await keyturn('users', 'keys', 'add', clientId, file)
  }
  await keyturn('users', 'grant', clientId, '--instance-role', 'IAM_OWNER_VIEWER')
  await keyturn('users', 'bound-tokens', clientId, 'required')
  if (senderConstrain === 'mtls') await keyturn('users', 'certificate-bound-tokens', clientId, 'on')
  return {
    client_id: clientId,
    // For both resources.
    scope: `urn:service:iam:org:project:id:service:aud urn:service:iam:org:project:id:${projectId}:aud`,
    jwks: { keys: [key.privateJwk] },
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
