/**
 * The configurations of proxies in `docs/operations.md` that pass client certificates on, with the proxies themselves. Those that the
 * machine does not have are skipped.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { Code, createClient } from '@connectrpc/connect'
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { WebKeyService } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { API_SCOPE } from '../../packages/client/src/index.ts'
import { authorityOf, certificateOf, type TestCertificate } from '../support/certificates.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { type Keyturn, removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { fetchWith, presenting, TLS_SETTINGS } from '../support/mtls-client.ts'
import { formOf, type OAuthInstance, type Robot, startOAuthInstance } from '../support/oauth-instance.ts'
import { describeUnless } from '../support/unless.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8')
const SPIFFE_ID = 'spiffe://example.org/checkout'
const APACHE_MODULES = '/usr/lib/apache2/modules'

let folder: string
let instance: OAuthInstance
let robot: Robot
let own: TestCertificate
let other: TestCertificate

beforeAll(async () => {
  instance = await startOAuthInstance()
  robot = await instance.addRobot({ certificateBoundTokens: true, instanceRoles: ['IAM_OWNER_VIEWER'] })
  await instance.call('iam.user.v2.ClientCertificateService/AddClientCertificate', {
    userId: robot.userId,
    match: { sanUri: SPIFFE_ID },
  })
  ;[own, other] = [certificateOf(), certificateOf()]
})

afterAll(() => instance?.stop())

beforeEach(async () => {
  folder = await temporaryFolder()
  const read = (file: string) => readFileSync(file, 'utf8')
  const { KEYTURN_TLS_CERT_FILE: cert, KEYTURN_TLS_KEY_FILE: key } = TLS_SETTINGS
  await writeFile(join(folder, 'id.pem'), read(cert) + read(key))
  await writeFile(join(folder, 'id.key'), read(key))
})

afterEach(() => removeFolder(folder))

/** The blocks of the page in a language. */
function blocks(language: string): string[] {
  return [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(([, block = '']) => block)
}

/** The one block of the page in a language, for this proxy. */
function configured(text: string, port: number, keyturn: Keyturn): string {
  return text
    .replaceAll('/etc/ssl', folder)
    .replaceAll('keyturn:8080', new URL(keyturn.listenUrl).host)
    .replace(/(listen |bind |\*)(:?)443/, (_, before) => `${before === '*' ? '' : before}127.0.0.1:${port}`)
}

function program(...paths: string[]): string | undefined {
  const inPath = (process.env.PATH ?? '').split(delimiter).map((each) => join(each, paths[0]!.split('/').at(-1)!))
  return [...paths, ...inPath].find(existsSync)
}

interface Proxy {
  readonly name: string
  readonly path: string | undefined
  readonly mode: string
  readonly carriesGrpc: boolean
  /** Its arguments, after its files are written. */
  start(port: number, keyturn: Keyturn): Promise<readonly string[]>
}

const PROXIES: readonly Proxy[] = [
  {
    name: 'nginx',
    path: program('/usr/sbin/nginx'),
    mode: 'x-forwarded-client-cert',
    carriesGrpc: true,
    start: async (port, keyturn) => {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`)
      const http = `access_log off; ${temporary.join(' ')}\n${configured(blocks('nginx')[0]!, port, keyturn)}`
      const main = `daemon off; master_process off; pid nginx.pid; error_log stderr; events {}\nhttp {\n${http}\n}`
      await writeFile(join(folder, 'nginx.conf'), main)
      return ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')]
    },
  },
  {
    name: 'HAProxy',
    path: program('/usr/sbin/haproxy'),
    mode: 'client-cert',
    carriesGrpc: true,
    start: async (port, keyturn) => {
      const timeouts = 'defaults\n    timeout connect 5s\n    timeout client 30s\n    timeout server 30s\n'
      await writeFile(join(folder, 'haproxy.cfg'), timeouts + configured(blocks('haproxy')[0]!, port, keyturn))
      return ['-db', '-f', join(folder, 'haproxy.cfg')]
    },
  },
  {
    name: 'Apache',
    path: existsSync(APACHE_MODULES) ? program('/usr/sbin/apache2') : undefined,
    mode: 'x-forwarded-client-cert',
    carriesGrpc: false,
    start: async (port, keyturn) => {
      const modules = [
        'mpm_event',
        'authn_core',
        'authz_core',
        'socache_shmcb',
        'ssl',
        'headers',
        'proxy',
        'proxy_http',
      ]
      const main = [
        `ServerRoot ${folder}`,
        'ServerName localhost',
        `Listen 127.0.0.1:${port}`,
        `PidFile ${folder}/httpd.pid`,
        `ErrorLog ${folder}/error.log`,
        ...modules.map((name) => `LoadModule ${name}_module ${APACHE_MODULES}/mod_${name}.so`),
        'User nobody',
        configured(blocks('apache')[0]!, port, keyturn),
      ]
      await writeFile(join(folder, 'httpd.conf'), main.join('\n'))
      return ['-D', 'FOREGROUND', '-f', join(folder, 'httpd.conf')]
    },
  },
]

/** Headers with which a client that has no such certificate claims it. */
const claiming = ({ der, pem }: TestCertificate) => ({
  'client-cert': `:${der.toString('base64')}:`,
  'x-forwarded-client-cert': `Cert="${encodeURIComponent(pem)}"`,
})

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

/** Where a server is reached through a proxy, until `use` ends. */
async function behind(
  proxy: Proxy,
  settings: Record<string, string>,
  use: (url: string) => Promise<void>,
): Promise<void> {
  const keyturn = await instance.startReplica({
    KEYTURN_MTLS: proxy.mode,
    KEYTURN_TRUSTED_PROXIES: '127.0.0.1',
    ...settings,
  })
  const port = await freePort()
  const args = await proxy.start(port, keyturn)
  const child = spawn(proxy.path!, args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
  try {
    const url = `https://127.0.0.1:${port}`
    await eventually(async () => expect((await fetchWith()(`${url}/readyz`)).status).toBe(200))
    await use(`${url}/oauth/v2/token`)
  } finally {
    await end(child)
  }
}

for (const proxy of PROXIES) {
  const { name, path, carriesGrpc } = proxy
  describeUnless(path === undefined ? `${name} is not installed` : undefined)(`behind ${name}`, () => {
    it('tokens are bound to the certificate of the client, and not to what the client says [RFC 9440 §4]', () =>
      behind(proxy, {}, async (url) => {
        const bound = async (by?: TestCertificate, headers: Record<string, string> = {}) => {
          const body = new URLSearchParams(formOf(robot))
          const response = await fetchWith(by)(url, { method: 'POST', body, headers })
          expect(response.status).toBe(200)
          const { access_token } = (await response.json()) as { access_token: string }
          return (decodeJwt(access_token) as { cnf?: Record<string, string> }).cnf?.['x5t#S256']
        }
        const forged = claiming(other)
        expect(await bound(own)).toBe(own.thumbprint)
        expect(await bound()).toBeUndefined()
        expect(await bound(undefined, forged)).toBeUndefined()
        expect(await bound(own, forged)).toBe(own.thumbprint)
      }))

    if (carriesGrpc)
      it('gRPC is carried with the certificate of the client', () =>
        behind(proxy, {}, async (url) => {
          const body = new URLSearchParams({ ...formOf(robot), scope: API_SCOPE })
          const response = await fetchWith(own)(url, { method: 'POST', body })
          const { access_token } = (await response.json()) as { access_token: string }
          const call = async (by?: TestCertificate, forged: Record<string, string> = {}) => {
            const sessionManager = new Http2SessionManager(new URL(url).origin, {}, presenting(by))
            const transport = createGrpcTransport({ baseUrl: new URL(url).origin, sessionManager })
            const headers = { authorization: `Bearer ${access_token}`, ...forged }
            try {
              return await createClient(WebKeyService, transport).listWebKeys({}, { headers })
            } finally {
              sessionManager.abort()
            }
          }
          expect((await call(own)).webKeys).toHaveLength(1)
          const forged = claiming(own)
          for (const refused of [call(other), call(undefined, forged), call(other, forged)])
            await expect(refused).rejects.toMatchObject({ code: Code.Unauthenticated })
        }))

    it('browsers are told to come back over TLS only [RFC 6797 §7.1]', () =>
      behind(proxy, {}, async (url) => {
        const { headers } = await fetchWith()(url, { method: 'POST' })
        expect(headers.get('strict-transport-security')).toBe('max-age=31536000')
      }))

    it('clients authenticate with a certificate of a trusted authority', async () => {
      const authority = authorityOf('authority')
      const caFile = join(folder, 'ca.pem')
      await writeFile(caFile, authority.pem)
      await behind(proxy, { KEYTURN_MTLS_CA_FILE: caFile }, async (url) => {
        const svid = certificateOf({ issuer: authority, uris: [SPIFFE_ID] })
        const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: robot.clientId })
        await eventually(async () => expect((await fetchWith(svid)(url, { method: 'POST', body })).status).toBe(200))
      })
    })
  })
}
