/**
 * SPIRE: a server and an agent, which attests itself with a join token and its workloads by their Unix user. CONTRIBUTING.md says how to
 * build the programs.
 */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../support/free-port.ts'
import { GO_PROGRAMS_ENV, missingGoPrograms } from '../support/go-programs.ts'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { type Daemon, startDaemon } from './daemon.ts'

const run = promisify(execFile)

/** Why there is no SPIRE; undefined if there is one. */
export const NO_SPIRE = missingGoPrograms('spire-server', 'spire-agent')

/** The trust domain, as an issuer is named by it. */
export const TRUST_DOMAIN = 'spiffe://shop.example'

/** What SPIRE puts into `iss` of JWT-SVIDs. */
export const SVID_ISSUER = 'https://oidc.shop.example'

/** A running SPIRE. */
export interface Spire {
  /** Where the programs reach server and agent. */
  readonly sockets: { readonly 'spire-server': string; readonly 'spire-agent': string }
  /** Runs `spire-server` or `spire-agent` with the sockets of these, and returns what it prints. */
  command(...args: string[]): Promise<string>
  /** A JWT-SVID, by the Workload API. */
  fetchJwtSvid(spiffeId: string, audience: string): Promise<string>
  stop(): Promise<void>
}

/** Starts a server, and an agent that gives these SPIFFE IDs to processes of the user of the test. */
export async function startSpire(...spiffeIds: readonly string[]): Promise<Spire> {
  const folder = await temporaryFolder()
  const running: Daemon[] = []
  const stop = async () => {
    for (const daemon of running.reverse()) await daemon.stop()
    await removeFolder(folder)
  }
  try {
    const sockets = { 'spire-server': join(folder, 'server.sock'), 'spire-agent': join(folder, 'agent.sock') }
    const command: Spire['command'] = async (program = '', ...args) => {
      const socket = sockets[program as keyof typeof sockets]
      return (await run(program, [...args, '-socketPath', socket], { env: GO_PROGRAMS_ENV })).stdout
    }
    const port = await freePort()
    const configure = async (name: keyof typeof sockets, content: object) => {
      const file = join(folder, `${name}.json`)
      await writeFile(file, JSON.stringify(content))
      return [name, 'run', '-config', file]
    }
    const common = { trust_domain: new URL(TRUST_DOMAIN).host, log_level: 'WARN' }

    const server = await configure('spire-server', {
      server: {
        ...common,
        data_dir: join(folder, 'server'),
        bind_address: '127.0.0.1',
        bind_port: port,
        socket_path: sockets['spire-server'],
        jwt_issuer: SVID_ISSUER,
        experimental: { cache_reload_interval: '1s' },
      },
      plugins: {
        DataStore: {
          sql: { plugin_data: { database_type: 'sqlite3', connection_string: join(folder, 'datastore.sqlite3') } },
        },
        NodeAttestor: { join_token: { plugin_data: {} } },
        KeyManager: { memory: { plugin_data: {} } },
      },
    })
    running.push(await startDaemon(server, () => command('spire-server', 'healthcheck')))

    const agentId = `${TRUST_DOMAIN}/agent`
    const token = JSON.parse(
      await command('spire-server', 'token', 'generate', '-spiffeID', agentId, '-output', 'json'),
    ) as { value: string }
    const workload = ['-parentID', agentId, '-selector', `unix:uid:${process.getuid?.()}`]
    for (const spiffeId of spiffeIds)
      await command('spire-server', 'entry', 'create', ...workload, '-spiffeID', spiffeId)
    const trustBundle = join(folder, 'bundle.pem')
    await writeFile(trustBundle, await command('spire-server', 'bundle', 'show'))
    const agent = await configure('spire-agent', {
      agent: {
        ...common,
        data_dir: join(folder, 'agent'),
        server_address: '127.0.0.1',
        server_port: port,
        socket_path: sockets['spire-agent'],
        trust_bundle_path: trustBundle,
        join_token: token.value,
        experimental: { sync_interval: '1s' },
      },
      plugins: {
        NodeAttestor: { join_token: { plugin_data: {} } },
        KeyManager: { memory: { plugin_data: {} } },
        WorkloadAttestor: { unix: { plugin_data: {} } },
      },
    })
    const fetchJwtSvid: Spire['fetchJwtSvid'] = async (spiffeId, audience) => {
      const asked = ['-audience', audience, '-spiffeID', spiffeId, '-output', 'json']
      const [{ svids }] = JSON.parse(await command('spire-agent', 'api', 'fetch', 'jwt', ...asked)) as [
        { svids: [{ svid: string }] },
      ]
      return svids[0].svid
    }
    // It asks the server for its workloads now and then.
    const knowsWorkloads = () => Promise.all(spiffeIds.map((id) => fetchJwtSvid(id, 'https://ready.example')))
    running.push(await startDaemon(agent, knowsWorkloads))
    return { sockets, command, fetchJwtSvid, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
