import { chmod, lstat, mkdir, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { canEnter, findPrograms, reachablePrograms } from '../../../src/embedded-postgres/programs.ts'
import { removeFolder, temporaryFolder } from '../../support/keyturn.ts'
import { runAs } from '../../support/system-user.ts'
import { describeUnless, NOT_ROOT } from '../../support/unless.ts'

let folder: string
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(() => removeFolder(folder))

describeUnless(NOT_ROOT)('programs that another user runs', () => {
  const user = { name: 'nobody', uid: 65534, gid: 65534 }
  let closed: string
  let cache: string

  /** As at a checkout in the home folder of root. */
  beforeEach(async () => {
    const { folder: installed } = await findPrograms()
    closed = join(folder, 'closed')
    await mkdir(closed, { mode: 0o700 })
    await symlink(installed, join(closed, 'native'))
    cache = join(folder, 'cache')
    await chmod(folder, 0o755)
  })
  const find = () => reachablePrograms({ folder: join(closed, 'native'), version: '1.2.3', links: [] }, user, cache)

  it('are left where they are if that user can enter the folder, and if the user is that of this process', async () => {
    const programs = { folder: '/usr/bin', version: '1.2.3', links: [] }
    expect(await reachablePrograms(programs, user, cache)).toBe('/usr/bin')
    expect(await reachablePrograms({ ...programs, folder: closed }, null, cache)).toBe(closed)
    expect(await readdir(folder)).toEqual(['closed'])
  })

  it('are copied once, whole, and run there', async () => {
    const before = process.umask(0o077)
    try {
      const [copy, same] = await Promise.all([find(), find()])
      expect(same).toBe(copy)
      expect(await canEnter(user, copy)).toBe(true)
      expect(await runAs(user, join(copy, 'bin/postgres'), ['--version'])).toMatch(/^postgres \(PostgreSQL\) 18/)
      expect(await readdir(cache)).toHaveLength(1)
      const { ino } = await lstat(copy)
      await find()
      expect((await lstat(copy)).ino).toBe(ino)
    } finally {
      process.umask(before)
    }
  })

  it('are not taken from a copy that another user can have made', async () => {
    const copy = await find()
    await chmod(copy, 0o777)
    await expect(find()).rejects.toThrow(
      /PostgreSQL runs as the user nobody, who cannot enter .*install Keyturn where every user can read it/,
    )
  })
})
