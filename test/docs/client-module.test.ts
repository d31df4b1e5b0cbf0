/**
 * The proto files for clients as a module that others depend on: in the npm package, and in the archive of a release.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { describeUnless, NOT_LINUX } from '../support/unless.ts'

const ROOT = join(import.meta.dirname, '../..')
const MODULE = join(ROOT, 'gen/proto')
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  version: string
}
const ARCHIVE = `keyturn-proto-${version}.tar.gz`

let folder: string
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(() => removeFolder(folder))

/** A new folder below that of the tests. */
function newFolder(name: string): string {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  return path
}

/** Runs commands as a user whose PATH has buf, and returns what they print. */
function shell(cwd: string, commands: string): string {
  const env = { PATH: [join(ROOT, 'node_modules/.bin'), process.env.PATH].join(delimiter), HOME: folder }
  return execFileSync('bash', ['-euo', 'pipefail', '-c', commands], {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

function archiveIn(cwd: string, root: string = ROOT): string {
  execFileSync(process.execPath, [join(root, 'scripts/proto-archive.ts'), cwd])
  return join(cwd, ARCHIVE)
}

const protosIn = (path: string) => globSync('**/*.proto', { cwd: path }).sort()

describe('the module of the proto files for clients', () => {
  it('can be imported by the proto files of others, with the buf.yaml of the page', () => {
    const project = newFolder('importing')
    const [, configuration = ''] = /^```yaml\n(version: v2\n.*?)^```$/ms.exec(page()) ?? []
    writeFileSync(join(project, 'buf.yaml'), configuration)
    cpSync(MODULE, join(project, 'node_modules/keyturn/gen/proto'), { recursive: true })
    const [imported] = protosIn(join(MODULE, 'iam'))
    writeFileSync(join(newFolder('importing/proto'), 'own.proto'), `syntax = "proto3";\nimport "iam/${imported}";\n`)
    shell(project, 'buf build')
    writeFileSync(join(project, 'proto/own.proto'), 'syntax = "proto3";\nimport "iam/unknown.proto";\n')
    expect(() => shell(project, 'buf build 2>&1')).toThrow()
  })
})

describeUnless(NOT_LINUX)('the archive of the proto files', () => {
  it('and the npm package make the folder of the page with its commands', () => {
    const [, commands = ''] = /^## The files$.*?^```sh\n(.*?)^```$/ms.exec(page()) ?? []
    const ways = commands.trim().split('\n')
    expect(ways).toHaveLength(3)
    ways.forEach((way, index) => {
      const project = newFolder(`way-${index}`)
      cpSync(MODULE, join(project, 'node_modules/keyturn/gen/proto'), { recursive: true })
      archiveIn(project)
      shell(project, way.replaceAll('VERSION', version))
      expect(protosIn(join(project, 'proto'))).toEqual(protosIn(MODULE))
      shell(project, 'buf build proto')
    })
  })
})

function page(): string {
  return readFileSync(join(ROOT, 'docs/clients.md'), 'utf8')
}
