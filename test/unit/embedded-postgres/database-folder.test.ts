import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { prepareDatabaseFolder } from '../../../src/embedded-postgres/database-folder.ts'
import { POSTGRES_MAJOR } from '../../../src/embedded-postgres/programs.ts'

let dataDir: string
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'keyturn-folder-'))
  await mkdir(join(dataDir, 'postgres'), 0o700)
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

it('a database folder is taken if its version is that of the program, and refused otherwise', async () => {
  const prepare = () => prepareDatabaseFolder(dataDir, { programs: '/nowhere', user: null })
  const version = join(dataDir, 'postgres/PG_VERSION')
  await writeFile(version, `${POSTGRES_MAJOR}\n`)
  expect(await prepare()).toBe(join(dataDir, 'postgres'))
  await writeFile(version, '17\n')
  await expect(prepare()).rejects.toThrow('it was made by PostgreSQL 17')
  await writeFile(version, 'something else')
  await expect(prepare()).rejects.toThrow('it is not a database')
})
