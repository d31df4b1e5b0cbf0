import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from '@jest/globals'

const ROOT = resolve(import.meta.dirname, '../..')

/** What each folder of `src` may import: other folders, `gen`, and packages by name or prefix. */
const ALLOWED: Record<string, readonly string[]> = {
  domain: [],
  app: ['domain', 'lru-cache'],
  crypto: ['domain', 'node:buffer', 'node:crypto', 'node:util', 'jose'],
  storage: ['domain', 'node:', 'kysely', 'pg'],
  'embedded-postgres': ['domain', 'node:'],
  oauth: ['domain', 'app', 'http', 'node:', 'oidc-provider'],
  openid: ['domain', 'openid-client'],
  rpc: ['domain', 'app', 'http', 'gen', 'node:', '@connectrpc/', '@bufbuild/'],
  http: ['domain', 'node:', '@connectrpc/connect'],
  outbound: ['domain', 'node:', 'jose', 'lru-cache'],
  config: ['domain', 'crypto', 'node:', 'zod'],
  telemetry: ['domain', 'app', 'config', 'oauth', 'rpc', 'http', 'node:', 'pino', 'prom-client', '@opentelemetry/'],
  'secret-files': ['domain', 'config', 'crypto', 'node:', 'zod'],
  'configuration-files': ['domain', 'gen', 'node:', '@bufbuild/', 'yaml'],
  server: [
    'domain',
    'app',
    'crypto',
    'storage',
    'embedded-postgres',
    'oauth',
    'openid',
    'rpc',
    'http',
    'outbound',
    'config',
    'telemetry',
    'secret-files',
    'configuration-files',
    'node:',
  ],
  workers: ['domain', 'app', 'config', 'telemetry', 'server', 'node:', 'prom-client'],
  cli: [
    'domain',
    'oauth',
    'config',
    'crypto',
    'telemetry',
    'secret-files',
    'configuration-files',
    'server',
    'workers',
    'gen',
    'node:',
    '@keyturn/client',
    'commander',
    'jose',
    'zod',
    '@connectrpc/',
    '@bufbuild/',
  ],
}

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))

/** Rooms whose folders still import each other. None may be added. */
const ROOMS_WITH_CIRCLES = ['cli']

/** What the page of the console may import, besides `gen`: it has the rules that it shows from the domain, and calls the API for all else. */
const ALLOWED_IN_CONSOLE = [
  '../src/domain/identities/permission.ts',
  '../src/domain/identities/reach.ts',
  '../src/domain/keys/key-algorithm.ts',
  '../src/domain/keys/algorithm-warnings.ts',
  '../src/domain/keys/rotation-policy.ts',
  '../src/domain/printable.ts',
  'preact',
  '@preact/signals',
  '@connectrpc/connect',
  '@connectrpc/connect-web',
  '@bufbuild/protobuf',
  'jose',
  'vite',
  'node:path',
]

const pageSources = readdirSync(join(ROOT, 'console'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))

describe('the page of the console', () => {
  it('imports nothing of the server but rules of the domain', () => {
    const foreign = pageSources.flatMap((file) =>
      specifiersOf(file)
        .flatMap((specifier) => {
          if (!specifier.startsWith('.')) return [specifier]
          const target = relative(join(ROOT, 'console'), resolve(ROOT, dirname(file), specifier))
          return target.startsWith('..') && !target.startsWith('../gen/') ? [target] : []
        })
        .filter((name) => !ALLOWED_IN_CONSOLE.some((entry) => covers(entry, name)))
        .map((name) => `${file} ${name}`),
    )
    expect(foreign).toEqual([])
  })
})

/** What the packages for others may import: nothing of the server, and of a platform what browsers have as well. */
const ALLOWED_IN_PACKAGES = {
  verify: ['jose', '@connectrpc/connect'],
  client: ['@keyturn/verify/discovery', 'gen', 'jose', '@connectrpc/connect', '@connectrpc/connect-web'],
}

describe.each(Object.entries(ALLOWED_IN_PACKAGES))('the package %s', (name, allowed) => {
  const files = readdirSync(join(ROOT, 'packages', name, 'src')).map((file) => `packages/${name}/src/${file}`)

  it('has the version of the server, and needs its neighbour in that version', () => {
    const { version } = JSON.parse(read('package.json'))
    const { version: own, dependencies } = JSON.parse(read(`packages/${name}/package.json`))
    expect([own, dependencies['@keyturn/verify'] ?? own]).toEqual([version, version])
  })

  it('imports only what it may, and of Connect nothing that verify would load', () => {
    const foreign = files.flatMap((file) =>
      specifiersOf(file)
        .map((specifier) => (specifier.startsWith('../../../gen/') ? 'gen' : specifier))
        .filter((specifier) => !specifier.startsWith('./') && !allowed.some((entry) => covers(entry, specifier)))
        .map((specifier) => `${file} ${specifier}`),
    )
    const loading = files.filter((file) => valueSpecifiersOf(file).some((entry) => covers('@connectrpc/', entry)))
    expect({ foreign, loading: name === 'verify' ? loading : [] }).toEqual({ foreign: [], loading: [] })
  })
})

describe('the source', () => {
  it('has a rule for every folder', () => {
    expect([...new Set(sources.map(folderOf))].sort()).toEqual(Object.keys(ALLOWED).sort())
  })

  it('imports only what its folder may', () => {
    const forbidden = sources.flatMap((file) => {
      const allowed = [folderOf(file), ...(ALLOWED[folderOf(file)] ?? [])]
      return importsOf(file)
        .filter((name) => !allowed.some((entry) => covers(entry, name)))
        .map((name) => `${file} ${name}`)
    })
    expect(forbidden).toEqual([])
  })

  it('has no circle between the folders of a room', () => {
    const imported = new Map<string, Set<string>>()
    for (const file of sources) {
      const targets = valueSpecifiersOf(file)
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => dirname(relative(ROOT, resolve(ROOT, dirname(file), specifier))))
        .filter((folder) => folderOf(folder) === folderOf(file) && folder !== dirname(file))
      imported.set(dirname(file), new Set([...(imported.get(dirname(file)) ?? []), ...targets]))
    }
    const inCircles = [...imported.keys()].filter((folder) => reachableFrom(folder, imported).has(folder))
    expect(inCircles.filter((folder) => !ROOMS_WITH_CIRCLES.includes(folderOf(folder)))).toEqual([])
  })

  it('acts by the right of the system only where no caller asks for it', () => {
    const acting = sources.filter((file) => /\bSYSTEM\b|kind: 'system'/.test(read(file)))
    expect(acting.sort()).toEqual([
      'src/app/console/people.ts',
      'src/app/events/webhook-deliverer.ts',
      'src/app/keys/reseal.ts',
      'src/app/keys/rotator.ts',
      'src/app/replica/issuer.ts',
      'src/domain/identities/authority.ts',
      'src/server/maintenance/recover.ts',
      'src/storage/events/audit-log.ts',
      'src/storage/instance/instance-initializer.ts',
    ])
  })

  it('opens a private key to sign with it in one place, which is given the active key', () => {
    const opening = (text: RegExp) => sources.filter((file) => text.test(read(file)))
    expect(opening(/\bsealer\.open\(/)).toEqual(['src/crypto/signer.ts'])
    // That in server wraps the signers that it is given.
    expect(opening(/\bsigners\.open\(/).sort()).toEqual([
      'src/app/replica/replica-memory.ts',
      'src/server/instance-start.ts',
    ])
  })

  it('reads the environment in config/, and the arguments in cli/ only', () => {
    const readers = (text: RegExp) => sources.filter((file) => text.test(read(file))).map(folderOf)
    expect(new Set(readers(/process\.env/))).toEqual(new Set(['config']))
    expect(new Set(readers(/process\.argv|process\.exit/))).toEqual(new Set(['cli']))
  })
})

function specifiersOf(file: string): string[] {
  return [...read(file).matchAll(/(?:from\s+|import\s*\(?)'([^']+)'/g)].map(([, specifier = '']) => specifier)
}

/** What a file imports at run time. */
function valueSpecifiersOf(file: string): string[] {
  return [...read(file).matchAll(/^(?:import|export) (?!type )[^']*?from '([^']+)'/gm)].map(([, name = '']) => name)
}

function reachableFrom(folder: string, imported: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  const reached = new Set<string>()
  const visit = (from: string) => {
    for (const next of imported.get(from) ?? []) {
      if (reached.has(next)) continue
      reached.add(next)
      visit(next)
    }
  }
  visit(folder)
  return reached
}

function importsOf(file: string): string[] {
  return specifiersOf(file).map((specifier) => {
    if (!specifier.startsWith('.')) return specifier
    const target = relative(ROOT, resolve(ROOT, dirname(file), specifier))
    return target.startsWith('gen') ? 'gen' : folderOf(target)
  })
}

function folderOf(file: string): string {
  return file.split('/')[1] ?? ''
}

function covers(entry: string, name: string): boolean {
  return name === entry || name.startsWith(/[:/]$/.test(entry) ? entry : `${entry}/`)
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}
