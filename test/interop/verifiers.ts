/**
 * The verifiers of other projects, and what each of them can do. The suite holds every word of it that can be measured.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
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
  start(surroundings: Surroundings): StartCommand
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
      args: ['serve.mjs', `./${module}`],
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
  go('go-oidc', ['github.com/coreos/go-oidc/v3'], {
    configuredBy: 'discovery',
    refuses: [],
    source: 'go/go_oidc.go',
    settings:
      'no cache time: it fetches the key set when a signature fits no key that it has, so a revoked key is trusted until then; compare `typ` yourself',
  }),
]
