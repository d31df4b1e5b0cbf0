import { chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { serverUser } from '../../../src/embedded-postgres/server-user.ts'
import { removeFolder, temporaryFolder } from '../../support/keyturn.ts'
import { describeUnless, NOT_ROOT } from '../../support/unless.ts'

const ROOT = 'root:x:0:0:root:/root:/bin/sh'
const POSTGRES = 'postgres:x:26:27::/:/bin/false'
const NOBODY = 'nobody:x:65534:65533::/:/bin/false'

describeUnless(NOT_ROOT)('the user that PostgreSQL runs as when Keyturn runs as root', () => {
  let folder: string
  let database: string
  beforeEach(async () => {
    folder = await temporaryFolder()
    database = join(folder, 'postgres')
  })
  afterEach(() => removeFolder(folder))

  const among = async (...accounts: string[]) => {
    const file = join(folder, 'passwd')
    await writeFile(file, `${accounts.join('\n')}\n`)
    return await serverUser(database, file)
  }

  it('is postgres, or else nobody', async () => {
    expect(await among(ROOT, NOBODY, POSTGRES)).toEqual({ name: 'postgres', uid: 26, gid: 27 })
    expect(await among(ROOT, NOBODY)).toEqual({ name: 'nobody', uid: 65534, gid: 65533 })
  })

  it('is the owner of a database that is there, with the group of that user', async () => {
    await mkdir(database)
    await chown(database, 65534, 0)
    expect(await among(ROOT, NOBODY, POSTGRES)).toEqual({ name: 'nobody', uid: 65534, gid: 65533 })
    await chown(database, 1234, 5678)
    expect(await among(ROOT, NOBODY, POSTGRES)).toEqual({ name: '1234', uid: 1234, gid: 5678 })
  })

  it('is not root, whoever has the database', async () => {
    await mkdir(database)
    expect(await among(ROOT, NOBODY)).toMatchObject({ name: 'nobody' })
    expect(await among('postgres:x:0:0::/:/bin/sh', NOBODY)).toMatchObject({ name: 'nobody' })
    await expect(among(ROOT)).rejects.toThrow('neither a user postgres nor a user nobody: run Keyturn as another user')
  })
})
