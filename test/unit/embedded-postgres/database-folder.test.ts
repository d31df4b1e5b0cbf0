import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { prepareDatabaseFolder } from '../../../src/embedded-postgres/database-folder.ts'
import { POSTGRES_MAJOR } from '../../../src/embedded-postgres/programs.ts'

const VERSION = `${POSTGRES_MAJOR}\n`

let dataDir: string
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'keyturn-folder-'))
  await mkdir(join(dataDir, 'postgres'), 0o700)
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

describe('a database folder that is there', () => {
  const prepare = () => prepareDatabaseFolder(dataDir, { programs: '/nowhere', user: null })

  it('is taken if its version is that of the program', async () => {
    await writeFile(join(dataDir, 'postgres/PG_VERSION'), VERSION)
    expect(await prepare()).toBe(join(dataDir, 'postgres'))
  })

  it.each<[string, (path: string) => Promise<unknown> | unknown]>([
    [
      'a link',
      async (path) => {
        await writeFile(join(dataDir, 'elsewhere'), VERSION)
        await symlink(join(dataDir, 'elsewhere'), path)
      },
    ],
    ['a pipe', (path) => execFileSync('mkfifo', [path])],
    ['long', (path) => writeFile(path, VERSION.padEnd(1000))],
  ])('is refused without a look inside if the file of its version is %s', async (_, make) => {
    await make(join(dataDir, 'postgres/PG_VERSION'))
    await expect(prepare()).rejects.toThrow('it is not a database')
  })
})
