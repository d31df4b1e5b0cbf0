import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { lockFaults } from '../../scripts/check-lock.ts'
import { missingPackages } from '../../scripts/complete-lock.ts'
import type { LockedPackages } from '../../scripts/lock-file.ts'

const ROOT = join(import.meta.dirname, '../..')
const GAPS = 'scripts/lock-without-integrity.txt'
const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))

const JOSE = 'node_modules/jose'
const FOREIGN = 'node_modules/@tool/darwin-x64'
const integrity = (letter: string) => `sha512-${letter.repeat(86)}==`

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keyturn-lock-'))
  mkdirSync(join(folder, 'scripts'))
})

afterAll(() => rmSync(folder, { recursive: true }))

function place(packages: LockedPackages, gaps: string[]): void {
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }))
  writeFileSync(join(folder, GAPS), gaps.map((path) => `${path}\n`).join(''))
}

const placed = () => JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')).packages as LockedPackages

const placedGaps = () => readFileSync(join(folder, GAPS), 'utf8')

/** Runs a script of the project on the files that were placed. */
function run(script: string, args: string[] = [], env: Record<string, string> = {}) {
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const options = { cwd: folder, env: { ...process.env, ...env } }
    execFile(process.execPath, [join(ROOT, 'scripts', script), ...args], options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })
}

describe('package-lock.json', () => {
  it('has the packages of all platforms: run "npx node scripts/complete-lock.ts" if not', () => {
    expect(Object.keys(missingPackages(lock.packages))).toEqual([])
  })

  it('has no addresses of a registry', () => {
    expect(JSON.stringify(lock)).not.toContain('"resolved"')
  })

  it('has an integrity for each package that is shipped', () => {
    const shipped = Object.entries(lock.packages as LockedPackages).filter(([path, { dev }]) => path !== '' && !dev)
    expect(shipped.length).toBeGreaterThan(50)
    expect(shipped.filter(([, entry]) => entry.integrity === undefined)).toEqual([])
  })

  it('lacks an integrity only where the list of gaps says so', () => {
    const gaps = readFileSync(join(ROOT, GAPS), 'utf8').split('\n').filter(Boolean)
    expect(lockFaults(lock.packages, gaps)).toEqual([])
  })
})

describe('the check of the lock', () => {
  const sound: LockedPackages = {
    '': {},
    [JOSE]: { version: '6.0.0', integrity: integrity('j') },
    [FOREIGN]: { version: '1.2.3', dev: true, optional: true },
  }
  const tampered = (path: string, change: object) => ({ ...sound, [path]: { ...sound[path], ...change } })

  it('passes a lock whose only gap is listed', () => {
    expect(lockFaults(sound, [FOREIGN])).toEqual([])
  })

  it.each([
    ['a shipped package lost its integrity', tampered(JOSE, { integrity: undefined }), [FOREIGN], JOSE],
    ['a shipped package without integrity is listed', tampered(JOSE, { integrity: undefined }), [FOREIGN, JOSE], JOSE],
    ['a tool of every platform is listed', tampered(FOREIGN, { optional: undefined }), [FOREIGN], FOREIGN],
    [
      'an integrity is a weak hash',
      tampered(JOSE, { integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }),
      [FOREIGN],
      JOSE,
    ],
    [
      'an integrity admits a second content',
      tampered(JOSE, { integrity: `${integrity('j')} ${integrity('k')}` }),
      [FOREIGN],
      JOSE,
    ],
    ['a package comes from an address', tampered(JOSE, { resolved: 'git+ssh://elsewhere/jose' }), [FOREIGN], JOSE],
    ['a gap is not listed', sound, [], FOREIGN],
    ['a listed gap is none any more', tampered(FOREIGN, { integrity: integrity('f') }), [FOREIGN], FOREIGN],
    ['a listed package is not in the lock', sound, [FOREIGN, 'node_modules/gone'], 'node_modules/gone'],
  ])('fails when %s', (_, packages, gaps, culprit) => {
    const faults = lockFaults(packages as LockedPackages, gaps)
    expect(faults).toHaveLength(1)
    expect(faults[0]).toContain(culprit)
  })

  it('fails on any gap for a release, and only then on a listed one', async () => {
    place(sound, [FOREIGN])
    expect(await run('check-lock.ts')).toMatchObject({ code: 0, stderr: '' })
    const { code, stderr } = await run('check-lock.ts', ['--release'])
    expect(code).toBe(1)
    expect(stderr).toContain(`${FOREIGN} has no integrity`)
  })

  it('fails on the lock of the project when one integrity is taken out of it', async () => {
    const { [JOSE]: jose, ...others } = lock.packages as LockedPackages
    const gaps = readFileSync(join(ROOT, GAPS), 'utf8').split('\n').filter(Boolean)
    place({ ...others, [JOSE]: { version: jose!.version! } }, gaps)
    const { code, stderr } = await run('check-lock.ts')
    expect(code).toBe(1)
    expect(stderr).toContain(`${JOSE} has no integrity`)
  })
})

describe('filling in integrities', () => {
  const OTHER = 'node_modules/@tool/win32-x64'
  const gap = (version: string) => ({ version, dev: true, optional: true })

  /** A registry that has one version of one package, or is broken. */
  async function withRegistry<T>(answer: 'offers' | 'broken', use: (env: Record<string, string>) => Promise<T>) {
    const server = createServer((request, response) => {
      const offered = answer === 'offers' && decodeURIComponent(request.url ?? '').startsWith('/@tool/darwin-x64')
      response.writeHead(answer === 'broken' ? 500 : offered ? 200 : 404, { 'content-type': 'application/json' })
      const version = { name: '@tool/darwin-x64', version: '1.2.3', dist: { integrity: integrity('f') } }
      response.end(
        JSON.stringify(offered ? { name: version.name, 'dist-tags': {}, versions: { '1.2.3': version } } : {}),
      )
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      return await use({
        npm_config_registry: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
        npm_config_cache: join(folder, 'cache'),
        npm_config_fetch_retries: '0',
      })
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }

  it('takes them from the registry, and leaves listed what the registry does not offer', async () => {
    place({ '': {}, [FOREIGN]: gap('1.2.3'), [OTHER]: gap('1.2.3') }, [FOREIGN, OTHER])
    const { code, stdout } = await withRegistry('offers', (env) => run('add-integrity.ts', [], env))
    expect(code).toBe(0)
    expect(stdout).toContain('@tool/win32-x64@1.2.3: not offered by this registry')
    expect(stdout).toContain('1 of 2')
    expect(placed()[FOREIGN]).toEqual({ ...gap('1.2.3'), integrity: integrity('f') })
    expect(placed()[OTHER]).toEqual(gap('1.2.3'))
    expect(placedGaps()).toBe(`${OTHER}\n`)
    expect((await run('check-lock.ts')).code).toBe(0)
  })

  it('changes nothing when the registry fails', async () => {
    place({ '': {}, [FOREIGN]: gap('1.2.3') }, [FOREIGN])
    const { code } = await withRegistry('broken', (env) => run('add-integrity.ts', [], env))
    expect(code).toBe(1)
    expect(placed()[FOREIGN]).toEqual(gap('1.2.3'))
    expect(placedGaps()).toBe(`${FOREIGN}\n`)
  })
})

describe('the packages that a lock file lacks', () => {
  it('are the optional ones of other platforms, with what they run on', () => {
    const packages = {
      'node_modules/tool': {
        dev: true,
        optionalDependencies: { '@tool/linux-arm64-musl': '1.2.3', '@tool/darwin-x64': '1.2.3', loose: '^1.0.0' },
      },
      'node_modules/@tool/darwin-x64': { version: '1.2.3' },
    }
    expect(missingPackages(packages)).toEqual({
      'node_modules/@tool/linux-arm64-musl': {
        version: '1.2.3',
        dev: true,
        optional: true,
        cpu: ['arm64'],
        os: ['linux'],
        libc: ['musl'],
      },
    })
  })

  it('are put back, and on the list of gaps', async () => {
    const tool = { version: '2.0.0', integrity: integrity('t'), dev: true }
    place({ '': {}, 'node_modules/tool': { ...tool, optionalDependencies: { '@tool/darwin-x64': '1.2.3' } } }, [])
    expect((await run('complete-lock.ts')).code).toBe(0)
    expect(placed()[FOREIGN]).toMatchObject({ version: '1.2.3', os: ['darwin'] })
    expect(placedGaps()).toBe(`${FOREIGN}\n`)
    expect((await run('check-lock.ts')).code).toBe(0)
  })
})
