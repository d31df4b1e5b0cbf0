import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { collect, removeFolder, spawnKeyturn, temporaryFolder } from '../support/keyturn.ts'

let folder: string
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(() => removeFolder(folder))

it('keyturn demo that is interrupted leaves nothing behind', async () => {
  const demo = spawnKeyturn(['demo'], { TMPDIR: folder })
  const output = collect(demo)
  const closed = once(demo, 'close')
  try {
    await eventually(() => expect(output.stdout).toContain('Keyturn listens on'))
    demo.kill('SIGINT')
    expect((await closed)[0]).toBe(1)
    expect(output.stderr).toBe('keyturn: interrupted by SIGINT\n')
    expect(await readdir(folder)).toEqual([])
  } finally {
    demo.kill('SIGKILL')
  }
})
