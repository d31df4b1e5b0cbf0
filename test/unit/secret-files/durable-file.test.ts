import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createDurably } from '../../../src/secret-files/durable-file.ts'
import { removeFolder, temporaryFolder } from '../../support/keyturn.ts'
import { startWorker } from '../../support/processes.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await temporaryFolder()
  path = join(folder, 'secret.json')
})
afterEach(() => removeFolder(folder))

describe('creating a file durably', () => {
  it('leaves it whole, for its owner only, and nothing beside it', async () => {
    await createDurably(path, 'secret')
    expect(await readFile(path, 'utf8')).toBe('secret')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await readdir(folder)).toEqual(['secret.json'])
  })

  it('replaces no file that is there, and leaves no draft of the new one', async () => {
    await writeFile(path, 'first')
    await expect(createDurably(path, 'second')).rejects.toMatchObject({ code: 'EEXIST' })
    expect(await readFile(path, 'utf8')).toBe('first')
    expect(await readdir(folder)).toEqual(['secret.json'])
  })

  it('has succeeded once the file has its name, also in a folder that cannot be read and so not be synced', async () => {
    await chmod(folder, 0o300)
    const worker = startWorker(new URL('create-durably.ts', import.meta.url), [path], { obeysPermissions: true })
    try {
      expect(await worker.next()).toEqual({ outcome: 'created' })
    } finally {
      await worker.kill()
      await chmod(folder, 0o700)
    }
    expect(await readdir(folder)).toEqual(['secret.json'])
  })
})

it('of two that create a file at the same time, one does', async () => {
  for (let round = 0; round < 20; round += 1) {
    const name = `${path}.${round}`
    const outcomes = await Promise.allSettled(['a', 'b'].map((text) => createDurably(name, text).then(() => text)))
    const created = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []))
    expect(created).toEqual([await readFile(name, 'utf8')])
  }
})
