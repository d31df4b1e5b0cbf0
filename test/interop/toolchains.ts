/**
 * What the verifiers of each language need on the machine: the programs, and the packages, which are installed below
 * `node_modules/.cache/interop` from the manifest in the folder of the language.
 *
 * A language whose programs are missing, or whose packages cannot be fetched, is left out. `prepare` says why.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { SHORT_LIVED_JVM } from '../support/short-lived-jvm.ts'

/** Where the sources of the verifiers are. */
export const SOURCES = import.meta.dirname
const CACHE = join(SOURCES, '../../node_modules/.cache/interop')
/** How long one command may take beside those of other languages, in milliseconds. With nothing cached Rust takes longest. */
const INSTALL_TIMEOUT = 480_000
/** Programs of a system are not always in the path of a user. */
export const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin']

/** The name of a toolchain, which is that of its folder. */
export type ToolchainName = 'node' | 'python' | 'go' | 'java' | 'rust' | 'ruby' | 'apache' | 'haproxy' | 'nginx'

/** A language that is ready, or why it is not. */
export type Prepared =
  | { readonly kind: 'ready'; readonly folder: string }
  | { readonly kind: 'missing'; readonly obstacle: string }

interface Toolchain {
  /** Programs, or paths of files, without which there is no attempt. */
  readonly programs: readonly string[]
  /** Files whose change makes the packages old. */
  readonly manifests: readonly string[]
  /** What fetches the packages. */
  readonly fetch: readonly Command[]
  /** What builds the sources. */
  readonly build: readonly Command[]
}

interface Command {
  readonly program: string
  readonly args: readonly string[]
}

const TOOLCHAINS: Readonly<Record<ToolchainName, Toolchain>> = {
  node: {
    programs: ['npm'],
    manifests: ['package.json', 'package-lock.json'],
    fetch: [{ program: 'npm', args: ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'] }],
    build: [],
  },
  python: {
    programs: ['python3'],
    manifests: ['requirements.txt'],
    fetch: [
      { program: 'python3', args: ['-m', 'venv', '.'] },
      { program: 'bin/pip', args: ['install', '--quiet', '--disable-pip-version-check', '-r', 'requirements.txt'] },
    ],
    build: [],
  },
  go: {
    programs: ['go'],
    manifests: ['go.mod', 'go.sum'],
    fetch: [{ program: 'go', args: ['mod', 'download'] }],
    build: [{ program: 'go', args: ['build', '-mod=readonly', '-trimpath', '-o', 'interop', '.'] }],
  },
  java: {
    programs: ['java', 'mvn'],
    manifests: ['pom.xml'],
    fetch: [{ program: 'mvn', args: ['-q', '-B', 'dependency:copy-dependencies'] }],
    build: [{ program: 'mvn', args: ['-q', '-B', 'compile'] }],
  },
  rust: {
    programs: ['cargo', 'cc'],
    // Without Cargo.lock, which names a registry in each of its lines.
    manifests: ['Cargo.toml'],
    fetch: [{ program: 'cargo', args: ['fetch', '--quiet'] }],
    build: [{ program: 'cargo', args: ['build', '--quiet', '--offline'] }],
  },
  // The packages of Debian: the package manager of Ruby is another registry, and these are what a system has.
  ruby: {
    programs: ['ruby'],
    manifests: [],
    fetch: [{ program: 'ruby', args: ['-e', 'require "jwt"; require "webrick"'] }],
    build: [],
  },
  apache: {
    programs: ['apache2', '/usr/lib/apache2/modules/mod_auth_openidc.so'],
    manifests: [],
    fetch: [],
    build: [],
  },
  haproxy: { programs: ['haproxy'], manifests: [], fetch: [], build: [] },
  nginx: { programs: ['nginx'], manifests: [], fetch: [], build: [] },
}

/**
 * Installs what a language needs, and builds. Prints one line if the machine cannot.
 *
 * @throws {Error} if the packages are there and the sources cannot be built.
 */
export async function prepare(name: ToolchainName): Promise<Prepared> {
  const { programs, manifests, fetch, build } = TOOLCHAINS[name]
  const missing = programs.filter((program) => programPath(program) === undefined)
  if (missing.length > 0) return leaveOut(name, `${missing.join(' and ')} not installed`)

  const folder = join(CACHE, name)
  mkdirSync(folder, { recursive: true })
  cpSync(join(SOURCES, name), folder, { recursive: true })
  const hash = createHash('sha256')
  for (const file of manifests) hash.update(readFileSync(join(folder, file)))
  const [stamp, wanted] = [join(folder, '.installed'), hash.digest('hex')]
  const isInstalled = existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted
  for (const command of isInstalled ? [] : fetch) {
    const failure = await run(command, folder)
    if (failure !== undefined) return leaveOut(name, failure)
  }
  writeFileSync(stamp, wanted)
  for (const command of build) {
    const failure = await run(command, folder)
    if (failure !== undefined) throw new Error(failure)
  }
  return { kind: 'ready', folder }
}

/** Where a program is; undefined if the machine does not have it. */
export function programPath(name: string): string | undefined {
  if (name.startsWith('/')) return existsSync(name) ? name : undefined
  const folders = [...(process.env.PATH ?? '').split(':'), ...SYSTEM_FOLDERS]
  return folders.map((folder) => join(folder, name)).find(existsSync)
}

function leaveOut(name: string, obstacle: string): Prepared {
  process.stdout.write(`interop: ${name} is skipped: ${obstacle}\n`)
  return { kind: 'missing', obstacle }
}

/** Runs a command to its end. Returns why it failed, on one line. */
async function run({ program, args }: Command, cwd: string): Promise<string | undefined> {
  try {
    await promisify(execFile)(program.includes('/') ? join(cwd, program) : program, args, {
      cwd,
      env: {
        ...process.env,
        PATH: [process.env.PATH, ...SYSTEM_FOLDERS].join(':'),
        MAVEN_OPTS: [SHORT_LIVED_JVM, process.env.MAVEN_OPTS].join(' '),
      },
      timeout: INSTALL_TIMEOUT,
    })
    return undefined
  } catch (error) {
    const { message, stdout, stderr, killed } = error as Error & { stdout: string; stderr: string; killed?: boolean }
    const said = `${stderr}${stdout}`.trim().split('\n').slice(-3).join(' / ')
    return `${program} ${args[0]} failed: ${killed ? `it took more than ${INSTALL_TIMEOUT} ms` : said || message}`
  }
}
