/**
 * The verifiers of other projects, and what each of them can do. The suite holds every word of it that can be measured, so a
 * refusal that turns into an acceptance fails it too.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startApache, startHaProxyVerifier, startNginx } from './servers.ts'
import { CACHE_SECONDS, type Surroundings } from './surroundings.ts'
import { SOURCES, type ToolchainName } from './toolchains.ts'
import type { StartCommand } from './verifier-process.ts'

/** The keys that sign one after the other, while the verifiers run. */
export const KEYS = ['RS256', 'RS256 again', 'ES256', 'EdDSA', 'RS384'] as const

/** One of them. */
export type KeyName = (typeof KEYS)[number]

/** Whether a key signs, or has signed before. */
export type KeyState = 'active' | 'inactive'

/** What is expected of a verifier. */
interface Expected {
  /** Where it learns the keys from. */
  readonly configuredBy: 'discovery' | 'the key set' | 'a file with one key'
  /** Keys whose tokens it refuses, because it does not know the algorithm, or the key. Default none. */
  readonly refuses?: readonly KeyName[]
  /** A key with which it cannot read the key set, so that it refuses tokens of all keys while that is published. */
  readonly cannotReadSetWith?: KeyName
  /** Whether it accepts a key that signs at once, without a restart. Default true. */
  readonly learnsNewKeys?: boolean
  /** Whether it refuses a revoked key by itself, when the cache time is over. Undefined: it never trusts another key. */
  readonly forgetsRevokedKeys?: boolean | undefined
  /** What has to be set, and what cannot be, for the page. */
  readonly settings: string
}

/** A verifier. */
export interface Verifier extends Expected {
  /** Of one verifier only. The page has it. */
  readonly name: string
  readonly language: string
  readonly toolchain: ToolchainName
  /** What its manifest pins, or how to ask the system, which has one or none. */
  readonly version: string | { readonly program: string; readonly args: readonly string[] }
  /** Its source, in this folder. The page shows it. */
  readonly source: string
  start(surroundings: Surroundings): StartCommand | Promise<StartCommand>
}

/** What the verifier must say of all tokens of a key in one of its states; undefined where that is a matter of time. */
export function expectedVerdict(
  { refuses = [], cannotReadSetWith }: Verifier,
  key: KeyName,
  state: KeyState,
): 'verified' | 'refused' | undefined {
  if (cannotReadSetWith !== undefined) {
    const position = KEYS.indexOf(key) - KEYS.indexOf(cannotReadSetWith)
    // Such a key is published while the one before it is active, and deleted some time after the next one is activated.
    if (position === 0 || (position === -1 && state === 'inactive')) return 'refused'
    return position < -1 && state === 'active' ? 'verified' : undefined
  }
  return refuses.includes(key) ? 'refused' : 'verified'
}

/** The version that a manifest pins. */
function pinned(manifest: string, pattern: RegExp): string {
  const version = pattern.exec(readFileSync(join(SOURCES, manifest), 'utf8'))?.[1]
  if (version === undefined) throw new Error(`${manifest} does not pin ${pattern}`)
  return version
}

const environment = ({ issuer, audience }: Surroundings) => ({
  ISSUER: issuer,
  AUDIENCE: audience,
  CACHE_SECONDS: String(CACHE_SECONDS),
})

/** @param packages What makes it up, the name first. @param script What serves it. */
function node(
  packages: readonly string[],
  source: string,
  { script = ['serve.mjs', `./${source}`], ...expected }: Expected & { readonly script?: readonly string[] },
): Verifier {
  return {
    name: packages.join(' with '),
    language: 'Node.js',
    toolchain: 'node',
    version: packages.map((name) => pinned('node/package.json', new RegExp(`"${name}": "(.+)"`))).join(', '),
    source: `node/${source}`,
    start: (surroundings) => ({
      program: process.execPath,
      args: script,
      cwd: surroundings.folder,
      env: environment(surroundings),
    }),
    ...expected,
  }
}

function python(name: string, module: string, expected: Expected): Verifier {
  return {
    name,
    language: 'Python',
    toolchain: 'python',
    version: pinned('python/requirements.txt', new RegExp(`^${name.toLowerCase()}==(.+)$`, 'm')),
    source: `python/${module}.py`,
    start: (surroundings) => ({
      program: join(surroundings.folder, 'bin/python'),
      args: ['-B', 'serve.py', module],
      cwd: surroundings.folder,
      env: environment(surroundings),
    }),
    ...expected,
  }
}

function go(
  name: string,
  modules: readonly string[],
  { source, ...expected }: Expected & { source: string },
): Verifier {
  return {
    name,
    language: 'Go',
    toolchain: 'go',
    version: modules.map((module) => pinned('go/go.mod', new RegExp(`${module} v(\\S+)`))).join(', '),
    source: `go/${source}`,
    start: (surroundings) => ({
      program: join(surroundings.folder, 'interop'),
      args: [name],
      cwd: surroundings.folder,
      env: environment(surroundings),
    }),
    ...expected,
  }
}

function spring(name: string, application: string, { source, ...expected }: Expected & { source: string }): Verifier {
  return {
    name,
    language: 'Java',
    toolchain: 'java',
    version: `Boot ${pinned('java/pom.xml', /<spring-boot.version>(.+)</)}`,
    source: `java/${source}`,
    start: (surroundings) => ({
      program: 'java',
      // It starts sooner so, and nobody waits for it to be fast.
      args: ['-XX:TieredStopAtLevel=1', '-cp', 'target/classes:target/dependency/*', application, ...SPRING_SETTINGS],
      cwd: surroundings.folder,
      env: environment(surroundings),
    }),
    ...expected,
  }
}

const SPRING_SETTINGS = [
  '--server.address=127.0.0.1',
  '--server.port=0',
  '--spring.main.banner-mode=off',
  '--spring.config.location=file:issuer-uri.properties',
]

/** All of them. */
export const VERIFIERS: readonly Verifier[] = [
  node(['jose'], 'jose.mjs', {
    configuredBy: 'the key set',
    settings: '`cacheMaxAge` (10 minutes without it), `cooldownDuration`, `typ`',
  }),
  node(['express-oauth2-jwt-bearer'], 'express-oauth2-jwt-bearer.mjs', {
    script: ['serve-express.mjs'],
    configuredBy: 'discovery',
    settings: '`cacheMaxAge` (10 minutes without it), `cooldownDuration`, `strict` for `typ`',
  }),
  node(['jsonwebtoken', 'jwks-rsa'], 'jwks-rsa.mjs', {
    configuredBy: 'the key set',
    refuses: ['EdDSA'],
    settings: '`cacheMaxAge` (10 minutes without it), `algorithms`; it does not look at `typ`',
  }),
  node(['fast-jwt', 'get-jwks'], 'fast-jwt.mjs', {
    configuredBy: 'the key set',
    forgetsRevokedKeys: false,
    settings:
      '`ttl` (a minute without it), `algorithms`, `checkTyp`; `getPublicKey` does not know Ed25519; get-jwks goes back to its ' +
      'old copy of a key that is gone, so a revoked key is trusted for as long as its tokens come',
  }),
  node(['oauth4webapi'], 'oauth4webapi.mjs', {
    configuredBy: 'discovery',
    settings: 'none; it keeps the key set for 300 s, and a new object of the server has none; the program makes one',
  }),
  node(['node-jose'], 'node-jose.mjs', {
    configuredBy: 'the key set',
    cannotReadSetWith: 'EdDSA',
    settings: 'the program fetches the key set; it cannot read one with an Ed25519 key',
  }),
  python('PyJWT', 'with_pyjwt', {
    configuredBy: 'the key set',
    settings: '`lifespan` (300 s without it), `cooldown_duration`, `algorithms`; it does not look at `typ`',
  }),
  python('Authlib', 'with_authlib', {
    configuredBy: 'the key set',
    refuses: ['EdDSA', 'RS384'],
    settings: 'the program fetches the key set; its validator knows RS256 and ES256 only',
  }),
  python('joserfc', 'with_joserfc', {
    configuredBy: 'the key set',
    settings: 'the program fetches the key set; `algorithms`; it does not look at `typ`',
  }),
  python('python-jose', 'with_python_jose', {
    configuredBy: 'the key set',
    refuses: ['EdDSA'],
    settings: 'the program fetches the key set; `algorithms`; it does not look at `typ`',
  }),
  go('go-oidc', ['github.com/coreos/go-oidc/v3'], {
    configuredBy: 'discovery',
    forgetsRevokedKeys: false,
    source: 'go_oidc.go',
    settings:
      'it keeps the key set until a token comes that no key of it fits, so a revoked key is trusted until then; it does not look ' +
      'at `typ`',
  }),
  go('golang-jwt with keyfunc', ['github.com/golang-jwt/jwt/v5', 'github.com/MicahParks/keyfunc/v3'], {
    configuredBy: 'the key set',
    source: 'keyfunc.go',
    settings:
      '`RefreshInterval` (an hour without it), `RefreshUnknownKID`, `RateLimitWaitMax`, `WithValidMethods`; it does not look at ' +
      '`typ`',
  }),
  go('lestrrat-go/jwx', ['github.com/lestrrat-go/jwx/v3'], {
    configuredBy: 'the key set',
    source: 'jwx.go',
    settings: '`WithConstantInterval` (15 minutes at least without it); it does not look at `typ`',
  }),
  spring('Spring Security', 'interop.Application', {
    configuredBy: 'the key set',
    refuses: ['EdDSA'],
    source: 'src/main/java/interop/SecurityConfiguration.java',
    settings: '`cache` and `rateLimited` of Nimbus (5 minutes and 30 s without them), the algorithms, the type',
  }),
  spring('Spring Security with `issuer-uri` alone', 'issueruri.Application', {
    configuredBy: 'discovery',
    refuses: KEYS,
    learnsNewKeys: false,
    forgetsRevokedKeys: undefined,
    source: 'issuer-uri.properties',
    settings: 'it refuses every `typ` but `JWT`: it needs a decoder like that of the line above',
  }),
  {
    name: 'jsonwebtoken for Rust',
    language: 'Rust',
    toolchain: 'rust',
    version: pinned('rust/Cargo.toml', /jsonwebtoken = \{ version = "=(.+?)"/),
    configuredBy: 'the key set',
    source: 'rust/src/verifier.rs',
    settings: 'the program fetches the key set, and takes the algorithm from the key; it does not look at `typ`',
    start: (surroundings) => ({
      program: join(surroundings.folder, 'target/debug/interop'),
      args: [],
      cwd: surroundings.folder,
      env: environment(surroundings),
    }),
  },
  {
    name: 'jwt for Ruby',
    language: 'Ruby',
    toolchain: 'ruby',
    version: { program: 'ruby', args: ['-e', 'require "jwt"; print JWT::VERSION::STRING'] },
    configuredBy: 'the key set',
    refuses: ['EdDSA'],
    source: 'ruby/verifier.rb',
    settings: 'the program fetches the key set; `algorithms`; it does not look at `typ`',
    start: (surroundings) => ({
      program: 'ruby',
      args: ['serve.rb'],
      cwd: surroundings.folder,
      env: environment(surroundings),
    }),
  },
  {
    name: 'mod_auth_openidc',
    language: 'Apache',
    toolchain: 'apache',
    version: {
      program: 'dpkg-query',
      args: ['-W', 'libapache2-mod-auth-openidc'],
    },
    configuredBy: 'the key set',
    refuses: ['EdDSA'],
    forgetsRevokedKeys: false,
    source: 'apache/api.conf',
    settings:
      '`OIDCJWKSRefreshInterval` is 300 s at least; for an unknown key it fetches at once; `Require claim` for the issuer and the ' +
      'audience; the key set must be https; it does not look at `typ`',
    start: startApache,
  },
  {
    name: 'HAProxy',
    language: 'HAProxy',
    toolchain: 'haproxy',
    version: { program: 'haproxy', args: ['-v'] },
    configuredBy: 'a file with one key',
    refuses: ['RS256 again', 'ES256', 'EdDSA', 'RS384'],
    learnsNewKeys: false,
    forgetsRevokedKeys: undefined,
    source: 'haproxy/haproxy.cfg',
    settings: 'it reads the key at the start, and never another one',
    start: startHaProxyVerifier,
  },
  {
    name: 'nginx with jose',
    language: 'nginx',
    toolchain: 'nginx',
    version: { program: 'nginx', args: ['-v'] },
    configuredBy: 'the key set',
    source: 'nginx/api.conf',
    settings: '`auth_request`; those of jose',
    start: startNginx,
  },
]
