/**
 * The verifiers of other projects, and what each of them can do. The suite holds every word of it that can be measured.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startApache, startHaProxyVerifier } from './servers.ts'
import { SOURCES, type ToolchainName } from './toolchains.ts'
import type { StartCommand } from './verifier-process.ts'

/** The keys that sign one after the other, while the verifiers run. */
export const KEYS = ['RS256', 'RS256 again', 'ES256', 'EdDSA', 'RS384'] as const

/** One of them. */
export type KeyName = (typeof KEYS)[number]

/** How long a verifier keeps the key set in the suite, in seconds. */
export const CACHE_SECONDS = 2

/** What a verifier is told when it is started. */
export interface Surroundings {
  /** Where its packages are. */
  readonly folder: string
  readonly issuer: string
  readonly audience: string
}

/** A verifier. */
export interface Verifier {
  readonly name: string
  readonly language: string
  readonly toolchain: ToolchainName
  readonly version: string
  /** Where it learns the keys from. */
  readonly configuredBy: 'discovery' | 'key set' | 'a key in a file'
  /** Keys whose tokens it refuses, because it does not know the algorithm. */
  readonly refuses: readonly KeyName[]
  /** Its source, in this folder. The page shows it. */
  readonly source: string
  /** What has to be set, and what cannot be: for the page. */
  readonly settings: string
  start(surroundings: Surroundings): StartCommand | Promise<StartCommand>
}

const read = (file: string) => readFileSync(join(SOURCES, file), 'utf8')

/** The version of a package that a manifest pins. */
function pinned(file: string, pattern: RegExp): string {
  const version = pattern.exec(read(file))?.[1]
  if (version === undefined) throw new Error(`${file} does not pin ${pattern}`)
  return version
}

function node(name: string, module: string, rest: Pick<Verifier, 'configuredBy' | 'refuses' | 'settings'>): Verifier {
  return {
    name,
    language: 'Node.js',
    toolchain: 'node',
    version: name
      .split(' with ')
      .map((each) => pinned('node/package.json', new RegExp(`"${each}": "(.+)"`)))
      .join(', '),
    source: `node/${module}`,
    start: ({ folder, issuer, audience }) => ({
      program: process.execPath,
      args: name.startsWith('express') ? ['serve-express.mjs'] : ['serve.mjs', `./${module}`],
      cwd: folder,
      env: environment(issuer, audience),
    }),
    ...rest,
  }
}

function python(name: string, module: string, rest: Pick<Verifier, 'configuredBy' | 'refuses' | 'settings'>): Verifier {
  return {
    name,
    language: 'Python',
    toolchain: 'python',
    version: pinned('python/requirements.txt', new RegExp(`^${name}==(.+)$`, 'm')),
    source: `python/${module}.py`,
    start: ({ folder, issuer, audience }) => ({
      program: join(folder, 'bin/python'),
      args: ['-B', 'serve.py', module],
      cwd: folder,
      env: environment(issuer, audience),
    }),
    ...rest,
  }
}

function go(
  name: string,
  modules: readonly string[],
  rest: Omit<Verifier, 'name' | 'language' | 'toolchain' | 'version' | 'start'>,
): Verifier {
  return {
    name,
    language: 'Go',
    toolchain: 'go',
    version: modules.map((module) => pinned('go/go.mod', new RegExp(`${module} v(\\S+)`))).join(', '),
    start: ({ folder, issuer, audience }) => ({
      program: join(folder, 'interop'),
      args: [name],
      cwd: folder,
      env: environment(issuer, audience),
    }),
    ...rest,
  }
}

function environment(issuer: string, audience: string): Record<string, string> {
  return { ISSUER: issuer, AUDIENCE: audience, CACHE_SECONDS: String(CACHE_SECONDS) }
}

/** All of them. */
export const VERIFIERS: readonly Verifier[] = [
  node('jose', 'jose.mjs', {
    configuredBy: 'key set',
    refuses: [],
    settings: '`cacheMaxAge`, `typ`',
  }),
  node('express-oauth2-jwt-bearer', 'express-oauth2-jwt-bearer.mjs', {
    configuredBy: 'discovery',
    refuses: [],
    settings: '`cacheMaxAge`, `strict` for `typ`',
  }),
  node('jsonwebtoken with jwks-rsa', 'jwks-rsa.mjs', {
    configuredBy: 'key set',
    refuses: ['EdDSA'],
    settings: '`cacheMaxAge`, `algorithms`; compare `typ` yourself',
  }),
  node('fast-jwt with get-jwks', 'fast-jwt.mjs', {
    configuredBy: 'key set',
    refuses: [],
    settings: '`ttl`, `algorithms`, `checkTyp`',
  }),
  node('oauth4webapi', 'oauth4webapi.mjs', {
    configuredBy: 'discovery',
    refuses: [],
    settings: 'the cache time is 300 s',
  }),
  node('node-jose', 'node-jose.mjs', {
    configuredBy: 'key set',
    refuses: ['EdDSA'],
    settings: 'no cache of its own',
  }),
  python('pyjwt', 'with_pyjwt', {
    configuredBy: 'key set',
    refuses: [],
    settings: '`lifespan`, `algorithms`; compare `typ` yourself',
  }),
  python('authlib', 'with_authlib', {
    configuredBy: 'key set',
    refuses: ['EdDSA', 'RS384'],
    settings: 'no cache of its own; it allows RS256 and ES256 only',
  }),
  python('joserfc', 'with_joserfc', {
    configuredBy: 'key set',
    refuses: [],
    settings: 'no cache of its own; `algorithms`; compare `typ` yourself',
  }),
  python('python-jose', 'with_python_jose', {
    configuredBy: 'key set',
    refuses: ['EdDSA'],
    settings: 'no cache of its own; `algorithms`; compare `typ` yourself',
  }),
  go('go-oidc', ['github.com/coreos/go-oidc/v3'], {
    configuredBy: 'discovery',
    refuses: [],
    source: 'go/go_oidc.go',
    settings: 'no cache time; compare `typ` yourself',
  }),
  go('golang-jwt with keyfunc', ['github.com/golang-jwt/jwt/v5', 'github.com/MicahParks/keyfunc/v3'], {
    configuredBy: 'key set',
    refuses: [],
    source: 'go/keyfunc.go',
    settings: '`RefreshInterval`, `RefreshUnknownKID`, `RateLimitWaitMax`, `WithValidMethods`; compare `typ` yourself',
  }),
  go('lestrrat-go/jwx', ['github.com/lestrrat-go/jwx/v3'], {
    configuredBy: 'key set',
    refuses: [],
    source: 'go/jwx.go',
    settings: '`WithConstantInterval`; compare `typ` yourself',
  }),
  {
    name: 'Spring Security',
    language: 'Java',
    toolchain: 'java',
    version: '7.1.2',
    configuredBy: 'key set',
    refuses: ['EdDSA'],
    source: 'java/src/main/java/interop/SecurityConfiguration.java',
    settings: '',
    start: ({ folder, issuer, audience }) => ({
      program: 'java',
      args: [
        '-XX:TieredStopAtLevel=1',
        '-cp',
        'target/classes:target/dependency/*',
        'interop.Application',
        '--server.address=127.0.0.1',
        '--server.port=0',
        '--spring.main.banner-mode=off',
      ],
      cwd: folder,
      env: environment(issuer, audience),
    }),
  },
  {
    name: 'jsonwebtoken',
    language: 'Rust',
    toolchain: 'rust',
    version: pinned('rust/Cargo.toml', /jsonwebtoken = \{ version = "=(.+?)"/),
    configuredBy: 'key set',
    refuses: [],
    source: 'rust/src/verifier.rs',
    settings: '',
    start: ({ folder, issuer, audience }) => ({
      program: join(folder, 'target/debug/interop'),
      args: [],
      cwd: folder,
      env: environment(issuer, audience),
    }),
  },
  {
    name: 'jwt',
    language: 'Ruby',
    toolchain: 'ruby',
    version: '2.5.0',
    configuredBy: 'key set',
    refuses: ['EdDSA'],
    source: 'ruby/verifier.rb',
    settings: '',
    start: ({ folder, issuer, audience }) => ({
      program: 'ruby',
      args: ['serve.rb'],
      cwd: folder,
      env: environment(issuer, audience),
    }),
  },
  {
    name: 'mod_auth_openidc',
    language: 'Apache',
    toolchain: 'apache',
    version: '2.4.12',
    configuredBy: 'key set',
    refuses: ['EdDSA'],
    source: 'apache/api.conf',
    settings: '',
    start: startApache,
  },
  {
    name: 'HAProxy',
    language: 'HAProxy',
    toolchain: 'haproxy',
    version: '2.6.12',
    configuredBy: 'a key in a file',
    refuses: ['RS256 again', 'ES256', 'EdDSA', 'RS384'],
    source: 'haproxy/haproxy.cfg',
    settings: '',
    start: startHaProxyVerifier,
  },
]
