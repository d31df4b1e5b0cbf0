/**
 * Verifiers that are servers of their own, with a configuration: Apache, HAProxy and nginx. Each gets a port, and a folder where it
 * needs one.
 */
import { createPublicKey, type JsonWebKeyInput } from 'node:crypto'
import { once } from 'node:events'
import { chmod, cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { freePort } from '../support/free-port.ts'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { CACHE_SECONDS, type Surroundings } from './surroundings.ts'
import { type StartCommand, startVerifier } from './verifier-process.ts'

const KEY_SET_PATH = '/.well-known/openid-configuration/jwks'
const CERTIFICATES = join(import.meta.dirname, '../support/tls')
/** Who a server becomes that is started by root. */
const SYSTEM_USER = 'www-data'

/** Apache with mod_auth_openidc, which takes the key set from https only: a proxy that ends TLS is put before Keyturn. */
export async function startApache({ folder: config, issuer, audience }: Surroundings): Promise<StartCommand> {
  const [folder, port, tls] = [
    await temporaryFolder(),
    await freePort(),
    await startTlsProxy(Number(new URL(issuer).port)),
  ]
  await cp(config, folder, { recursive: true })
  await cp(join(CERTIFICATES, 'first.cert.pem'), join(folder, 'first.cert.pem'))
  await mkdir(join(folder, 'htdocs'))
  await writeFile(join(folder, 'htdocs/verify'), 'verified')
  // Its processes are those of another user.
  await chmod(folder, 0o755)
  return {
    program: 'apache2',
    args: ['-DFOREGROUND', '-f', join(folder, 'httpd.conf')],
    cwd: folder,
    env: {
      FOLDER: folder,
      CONFIG: folder,
      CERTIFICATE: join(folder, 'first.cert.pem'),
      MODULES: '/usr/lib/apache2/modules',
      RUN_AS: SYSTEM_USER,
      PORT: String(port),
      KEY_SET: `https://localhost:${tls.port}${KEY_SET_PATH}`,
      ISSUER: issuer,
      AUDIENCE: audience,
    },
    port,
    logFile: join(folder, 'error.log'),
    dispose: async () => {
      await tls.close()
      await removeFolder(folder)
    },
  }
}

/** HAProxy with the key that signs now, in a file. */
export async function startHaProxyVerifier({ folder: config, issuer, audience }: Surroundings): Promise<StartCommand> {
  const [folder, port] = [await temporaryFolder(), await freePort()]
  const { keys } = (await (await fetch(issuer + KEY_SET_PATH)).json()) as { keys: JsonWebKeyInput['key'][] }
  const keyFile = join(folder, 'key.pem')
  const key = createPublicKey({ key: keys[0] ?? {}, format: 'jwk' })
  await writeFile(keyFile, key.export({ type: 'spki', format: 'pem' }))
  return {
    program: 'haproxy',
    args: ['-db', '-f', join(config, 'haproxy.cfg')],
    cwd: folder,
    env: { PORT: String(port), KEY_FILE: keyFile, ISSUER: issuer, AUDIENCE: audience },
    port,
    dispose: () => removeFolder(folder),
  }
}

/** nginx, which asks a program with jose about each request. */
export async function startNginx(surroundings: Surroundings): Promise<StartCommand> {
  const { folder: config, issuer, audience } = surroundings
  const [folder, port, apiPort] = [await temporaryFolder(), await freePort(), await freePort()]
  const jose = await startVerifier({
    program: process.execPath,
    args: ['serve.mjs', './jose.mjs'],
    cwd: join(config, '../node'),
    env: { ISSUER: issuer, AUDIENCE: audience, CACHE_SECONDS: String(CACHE_SECONDS) },
  })
  // Its configuration cannot read the environment.
  const values: Record<string, number> = { PORT: port, API_PORT: apiPort, VERIFIER_PORT: jose.port }
  for (const file of ['nginx.conf', 'api.conf']) {
    const text = await readFile(join(config, file), 'utf8')
    await writeFile(
      join(folder, file),
      text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => String(values[name])),
    )
  }
  return {
    program: 'nginx',
    args: ['-p', folder, '-e', 'stderr', '-c', 'nginx.conf'],
    cwd: folder,
    env: {},
    port,
    dispose: async () => {
      await jose.stop()
      await removeFolder(folder)
    },
  }
}

async function startTlsProxy(targetPort: number): Promise<{ port: number; close(): Promise<void> }> {
  const [cert, key] = await Promise.all(
    ['cert', 'key'].map((kind) => readFile(join(CERTIFICATES, `first.${kind}.pem`))),
  )
  const server = createServer({ cert, key }, (near) => {
    const far = connect(targetPort, '127.0.0.1')
    near.on('error', () => far.destroy()).pipe(far)
    far.on('error', () => near.destroy()).pipe(near)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise((closed) => server.close(() => closed())),
  }
}
