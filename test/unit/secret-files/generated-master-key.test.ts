import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../../src/crypto/master-keys.ts'
import { rotateGenerated } from '../../../src/secret-files/master-key-source.ts'

let folder: string
let file: string
const before = generateMasterKey()
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keyturn-generated-'))
  file = join(folder, 'master.key')
  await writeFile(file, `${before}\n`, { mode: 0o600 })
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const content = async () => (await readFile(file, 'utf8')).trim().split(',')
const idOf = (masterKey: string) => masterKey.split(':')[0]!

describe('the rotation of a generated master key', () => {
  it('has both keys in the file until everything is sealed with the new one, and then that one', async () => {
    let during: string[] = []
    const ids = await rotateGenerated(file, async (masterKeys) => {
      during = await content()
      return masterKeys.map(({ id }) => id)
    })
    expect(during).toEqual([expect.not.stringMatching(before), before])
    expect(ids).toEqual(during.map(idOf))
    expect(await content()).toEqual([during[0]])
  })

  it('leaves both in the file when it fails, and goes on with the same new one', async () => {
    const failing = rotateGenerated(file, async () => {
      throw new Error('the database is gone')
    })
    await expect(failing).rejects.toThrow('the database is gone')
    const [newer, older] = await content()
    expect([newer, older]).toEqual([expect.not.stringMatching(before), before])
    expect(await rotateGenerated(file, async (keys) => keys.map(({ id }) => id))).toEqual([idOf(newer!), idOf(before)])
    expect(await content()).toEqual([newer])
    expect(await readdir(folder)).toEqual(['master.key'])
  })
})
