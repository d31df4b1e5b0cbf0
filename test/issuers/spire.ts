/**
 * SPIRE: a server with a bundle endpoint, an agent, which attests itself with a join token and its workloads by their Unix user, and an
 * OIDC discovery provider. CONTRIBUTING.md says how to build the programs.
 */
import { execFile } from 'node:child_process'
import { hash, X509Certificate } from 'node:crypto'
import { globSync } from 'node:fs'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../support/free-port.ts'
import { GO_PROGRAMS_ENV, missingGoPrograms } from '../support/go-programs.ts'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { CERTIFICATE, CERTIFICATE_KEY } from './certificate.ts'
import { type Daemon, startDaemon } from './daemon.ts'

const run = promisify(execFile)

/** Why there is no SPIRE; undefined if there is one. */
export const NO_SPIRE = missingGoPrograms('spire-server', 'spire-agent', 'oidc-discovery-provider')

/** The trust domain, as an issuer is named by it. */
export const TRUST_DOMAIN = 'spiffe://shop.example'

const AGENT = `${TRUST_DOMAIN}/agent`

/** A running SPIRE. */
export interface Spire {
  /** Where the programs reach server and agent. */
  readonly sockets: { readonly 'spire-server': string; readonly 'spire-agent': string }
  /** Where the server serves the bundle of the trust domain, in the profile `https_web`. */
  readonly bundleUrl: string
  /** What is in `iss` of JWT-SVIDs, where the discovery provider serves the keys of the trust domain. */
  readonly issuer: string
  /** Runs `spire-server` or `spire-agent` with its socket, and returns what it prints. */
  command(program: keyof Spire['sockets'], ...args: string[]): Promise<string>
  /** A JWT-SVID, by the Workload API. */
  fetchJwtSvid(spiffeId: string, audience: string): Promise<string>
  /** An X.509-SVID, by the Workload API. */
  fetchX509Svid(spiffeId: string): Promise<X509Svid>
  /** The ids of the keys for JWT-SVIDs that the discovery provider publishes, which follows the server within a second. */
  publishedKeyIds(): Promise<string[]>
  stop(): Promise<void>
}

/** An X.509-SVID with its private key. */
export interface X509Svid {
  readonly pem: string
  readonly keyPem: string
  /** The SHA-256 of the certificate in base64url (`x5t#S256`). */
  readonly thumbprint: string
  /** The subject of the authority, which has a serial number. */
  readonly issuer: string
}

/** Where everything of one SPIRE is. */
interface Places {
  readonly folder: string
  readonly sockets: Spire['sockets']
  readonly ports: { readonly server: number; readonly bundle: number; readonly issuer: number; readonly health: number }
}

/** Starts it. The agent gives these SPIFFE IDs to processes of the user of the test. */
export async function startSpire(...spiffeIds: readonly string[]): Promise<Spire> {
  const folder = await temporaryFolder()
  const sockets = { 'spire-server': join(folder, 'server.sock'), 'spire-agent': join(folder, 'agent.sock') }
  const ports = {
    server: await freePort(),
    bundle: await freePort(),
    issuer: await freePort(),
    health: await freePort(),
  }
  const places = { folder, sockets, ports }
  const spire = {
    sockets,
    bundleUrl: `https://localhost:${ports.bundle}`,
    issuer: issuerAt(places),
    command: async (program: keyof Spire['sockets'], ...args: string[]) =>
      (await run(program, [...args, '-socketPath', sockets[program]], { env: GO_PROGRAMS_ENV })).stdout,
    fetchJwtSvid: async (spiffeId: string, audience: string) => {
      const args = ['api', 'fetch', 'jwt', '-audience', audience, '-spiffeID', spiffeId, '-output', 'json']
      const [{ svids }] = JSON.parse(await spire.command('spire-agent', ...args)) as [{ svids: [{ svid: string }] }]
      return svids[0].svid
    },
    fetchX509Svid: async (spiffeId: string) => {
      const folder = await mkdtemp(join(places.folder, 'x509-'))
      await spire.command('spire-agent', 'api', 'fetch', 'x509', '-write', folder)
      // It writes those of all workloads.
      for (const name of globSync('svid.*.pem', { cwd: folder })) {
        const pem = await readFile(join(folder, name), 'utf8')
        const { subjectAltName, raw, issuer } = new X509Certificate(pem)
        if (subjectAltName !== `URI:${spiffeId}`) continue
        const keyPem = await readFile(join(folder, name.replace(/pem$/, 'key')), 'utf8')
        return { pem, keyPem, thumbprint: hash('sha256', raw, 'base64url'), issuer }
      }
      throw new Error(`SPIRE gives no X.509-SVID for ${spiffeId}`)
    },
    publishedKeyIds: async () => {
      const body = (await run('curl', ['-sSf', '--cacert', CERTIFICATE, `${spire.issuer}/keys`])).stdout
      return (JSON.parse(body) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)
    },
  }

  const running: Daemon[] = []
  const start = async ([program, ...args]: readonly [string, ...string[]], config: object, isReady: () => unknown) => {
    const file = join(folder, `${program}.json`)
    await writeFile(file, JSON.stringify(config))
    running.push(await startDaemon([program, ...args, '-config', file], isReady))
  }
  const stop = async () => {
    for (const daemon of running.reverse()) await daemon.stop()
    await removeFolder(folder)
  }
  try {
    await start(['spire-server', 'run'], serverConfig(places), () => spire.command('spire-server', 'healthcheck'))
    const workload = ['-parentID', AGENT, '-selector', `unix:uid:${process.getuid?.()}`]
    for (const spiffeId of spiffeIds)
      await spire.command('spire-server', 'entry', 'create', ...workload, '-spiffeID', spiffeId)
    await writeFile(trustBundleIn(places), await spire.command('spire-server', 'bundle', 'show'))
    const token = await spire.command('spire-server', 'token', 'generate', '-spiffeID', AGENT, '-output', 'json')
    const { value } = JSON.parse(token) as { value: string }
    // It asks the server for its workloads now and then.
    const knowsWorkloads = () => Promise.all(spiffeIds.map((id) => spire.fetchJwtSvid(id, 'https://ready.example')))
    await start(['spire-agent', 'run'], agentConfig(places, value), knowsWorkloads)
    await start(['oidc-discovery-provider'], providerConfig(places), spire.publishedKeyIds)
  } catch (error) {
    await stop()
    throw error
  }
  return { ...spire, stop }
}

const TLS = { cert_file_path: CERTIFICATE, key_file_path: CERTIFICATE_KEY, file_sync_interval: '1h' }
const COMMON = { trust_domain: new URL(TRUST_DOMAIN).host, log_level: 'WARN' }
const MEMORY = { memory: { plugin_data: {} } }
const JOIN_TOKEN = { join_token: { plugin_data: {} } }

function issuerAt({ ports }: Places): string {
  return `https://localhost:${ports.issuer}`
}

function trustBundleIn({ folder }: Places): string {
  return join(folder, 'bundle.pem')
}

function serverConfig(places: Places): object {
  const { folder, sockets, ports } = places
  const address = '127.0.0.1'
  const database = { database_type: 'sqlite3', connection_string: join(folder, 'datastore.sqlite3') }
  return {
    server: {
      ...COMMON,
      data_dir: join(folder, 'server'),
      bind_address: address,
      bind_port: ports.server,
      socket_path: sockets['spire-server'],
      jwt_issuer: issuerAt(places),
      federation: {
        bundle_endpoint: { address, port: ports.bundle, profile: [{ https_web: { serving_cert_file: TLS } }] },
      },
      experimental: { cache_reload_interval: '1s' },
    },
    plugins: { DataStore: { sql: { plugin_data: database } }, NodeAttestor: JOIN_TOKEN, KeyManager: MEMORY },
  }
}

function agentConfig(places: Places, joinToken: string): object {
  const { folder, sockets, ports } = places
  return {
    agent: {
      ...COMMON,
      data_dir: join(folder, 'agent'),
      server_address: '127.0.0.1',
      server_port: ports.server,
      socket_path: sockets['spire-agent'],
      trust_bundle_path: trustBundleIn(places),
      join_token: joinToken,
      experimental: { sync_interval: '1s' },
    },
    plugins: { NodeAttestor: JOIN_TOKEN, KeyManager: MEMORY, WorkloadAttestor: { unix: { plugin_data: {} } } },
  }
}

function providerConfig({ sockets, ports }: Places): object {
  return {
    domains: ['localhost'],
    serving_cert_file: { ...TLS, addr: `127.0.0.1:${ports.issuer}` },
    server_api: { address: `unix://${sockets['spire-server']}`, poll_interval: '1s' },
    health_checks: { bind_port: String(ports.health) },
  }
}
