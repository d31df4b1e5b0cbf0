/**
 * Shared caches in front of the key set, with their configurations in `docs/scale.md`. Those that the machine does not have are
 * skipped.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { administrationOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { type Keyturn, removeFolder, startKeyturnInProcess, temporaryFolder } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { itUnless } from '../support/unless.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/scale.md'), 'utf8')
const JWKS = '/.well-known/openid-configuration/jwks'
const ED25519 = { config: { config: { case: 'ed25519', value: {} } } } as const

interface Cache {
  readonly name: string
  readonly program: string
  /** Whether it subtracts the `Age` that it received from the time that it keeps a copy. */
  readonly countsAge: boolean
  /** Its arguments, after its files are written. */
  start(folder: string, port: number, origin: URL): Promise<readonly string[]>
}

const CACHES: readonly Cache[] = [
  {
    name: 'nginx',
    program: '/usr/sbin/nginx',
    countsAge: false,
    start: async (folder, port, origin) => {
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`)
      const block = blockOf('nginx')
        .replace('/var/cache/nginx/jwks', join(folder, 'jwks'))
        .replace('listen 80;', `listen 127.0.0.1:${port};`)
        .replace('keyturn:8080', origin.host)
      const main = `user root; daemon off; pid nginx.pid; error_log stderr; events {}\nhttp {\naccess_log off; ${paths.join(' ')}\n${block}\n}`
      await writeFile(join(folder, 'nginx.conf'), main)
      return ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')]
    },
  },
  {
    name: 'Varnish',
    program: '/usr/sbin/varnishd',
    countsAge: true,
    start: async (folder, port, origin) => {
      const block = blockOf('vcl').replace('"keyturn"', `"${origin.hostname}"`).replace('"8080"', `"${origin.port}"`)
      await writeFile(join(folder, 'keyturn.vcl'), block)
      await mkdir(join(folder, 'varnish'))
      const listen = ['-a', `127.0.0.1:${port}`, '-T', 'none']
      return ['-F', '-j', 'none', '-n', join(folder, 'varnish'), '-f', join(folder, 'keyturn.vcl'), ...listen]
    },
  },
]

/** The block of the page in a language. */
function blockOf(language: string): string {
  return new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'ms').exec(PAGE)![1]!
}

/** Between a cache and a server: tells what the cache has asked for the key set and can take the server away. */
class Origin {
  readonly asked: { readonly ifNoneMatch: string | undefined; readonly status: number }[] = []
  readonly #server: Server
  #away = false

  constructor(target: string) {
    this.#server = createServer((req, res) => {
      if (this.#away) return void res.socket?.destroy()
      void this.#pass(req, target).then(
        ({ status, headers, body }) => res.writeHead(status, headers).end(body),
        () => res.socket?.destroy(),
      )
    })
  }

  async listen(): Promise<URL> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the origin has no port')
    return new URL(`http://127.0.0.1:${address.port}`)
  }

  takeAway(): void {
    this.#away = true
    this.#server.closeAllConnections()
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #pass({ url = '', headers }: IncomingMessage, target: string) {
    const ifNoneMatch = headers['if-none-match']
    const response = await fetch(new URL(url, target), {
      headers: ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch },
    })
    if (url === JWKS) this.asked.push({ ifNoneMatch, status: response.status })
    const kept = ['age', 'cache-control', 'content-type', 'etag'].flatMap((name) => {
      const value = response.headers.get(name)
      return value === null ? [] : [[name, value]]
    })
    return { status: response.status, headers: Object.fromEntries(kept), body: await response.bytes() }
  }
}

let folder: string
let database: TcpProxy
let keyturn: Keyturn
let origin: Origin
let cache: ChildProcess | undefined
let address: string

beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(async () => {
  if (cache !== undefined && cache.exitCode === null) {
    const exited = once(cache, 'exit')
    cache.kill('SIGTERM')
    await exited
  }
  cache = undefined
  origin.close()
  await keyturn.stop()
  await removeFolder(keyturn.dataDir)
  await database.close()
  await removeFolder(folder)
})

/** Starts a server with this cache time, and the cache in front of it. */
async function start({ program, start: configure }: Cache, maxAgeSeconds: number): Promise<void> {
  const url = new URL(await sharedPostgres().createMigratedDatabase())
  database = await startTcpProxy(Number(url.port))
  url.port = String(database.port)
  keyturn = await startKeyturnInProcess({
    env: {
      KEYTURN_DATABASE_URL: url.href,
      KEYTURN_MASTER_KEYS: generateMasterKey(),
      KEYTURN_JWKS_MAX_AGE: String(maxAgeSeconds),
      KEYTURN_ACTIVATION_GUARD: 'enforce',
    },
  })
  origin = new Origin(keyturn.listenUrl)
  const port = await freePort()
  address = `http://127.0.0.1:${port}${JWKS}`
  const child = spawn(program, await configure(folder, port, await origin.listen()), {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  cache = child
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(output)
    await fetch(new URL('/', address))
  })
}

async function get(headers: Record<string, string> = {}) {
  const response = await fetch(address, { headers })
  const { status } = response
  return {
    status,
    age: Number(response.headers.get('age') ?? 0),
    etag: response.headers.get('etag') ?? '',
    body: await response.text(),
  }
}

const keyIdsOf = (body: string) => (JSON.parse(body) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)

/** Longer than a replica on a busy machine may be without a comparison: a copy that is older than that at the start is kept by no cache. */
const MAX_AGE = 5

describe.each(CACHES)('$name in front of the key set', (config) => {
  const itHere = itUnless(existsSync(config.program) ? undefined : `there is no ${config.program}`)

  itHere('asks once, and answers those who have the copy with 304', async () => {
    await start(config, 300)
    const first = await get()
    expect(first).toMatchObject({ status: 200, body: await (await fetch(`${keyturn.listenUrl}${JWKS}`)).text() })
    expect((await get()).body).toBe(first.body)
    expect(await get({ 'if-none-match': first.etag })).toMatchObject({ status: 304, body: '' })
    expect(origin.asked).toEqual([{ ifNoneMatch: undefined, status: 200 }])
  })

  itHere('asks with the entity tag when its copy has expired', async () => {
    await start(config, MAX_AGE)
    const { etag, body } = await get()
    await eventually(async () => {
      expect(await get()).toMatchObject({ status: 200, body })
      expect(origin.asked).toContainEqual({ ifNoneMatch: etag, status: 304 })
    })
  })

  itHere('serves its copy, expired, while Keyturn is away', async () => {
    await start(config, MAX_AGE)
    const { body } = await get()
    const fetchedAt = performance.now()
    await eventually(() => expect(performance.now() - fetchedAt).toBeGreaterThan(1000 * (MAX_AGE + 1)))
    origin.takeAway()
    expect(await get()).toMatchObject({ status: 200, body })
    if (config.countsAge) expect((await get()).age).toBeGreaterThanOrEqual(MAX_AGE)
  })

  itHere(`${config.countsAge ? 'counts' : 'ignores'} the age of what a replica that is cut off says`, async () => {
    await start(config, 5)
    await database.close()
    await eventually(async () => {
      const { headers } = await fetch(`${keyturn.listenUrl}${JWKS}`)
      expect(Number(headers.get('age'))).toBeGreaterThanOrEqual(5)
    })
    expect((await get()).age).toBeGreaterThanOrEqual(5)
    await get()
    expect(origin.asked).toHaveLength(config.countsAge ? 2 : 1)
  })

  itHere('has a new key when it may sign', async () => {
    await start(config, 2)
    const { keys } = await administrationOf(keyturn)
    await get()
    const { keyId } = (await keys.createWebKey(ED25519)).webKey!
    await eventually(() => keys.activateWebKey({ keyId }))
    const has = async () => expect(keyIdsOf((await get()).body)).toContain(keyId)
    // nginx keeps a copy until the whole second in which it expires is over.
    if (config.name === 'nginx') await eventually(has)
    else await has()
  })
})
