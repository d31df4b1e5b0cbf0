import { readdir } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { removeFolder, runKeyturn, temporaryFolder } from '../../support/keyturn.ts'

let folder: string
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(() => removeFolder(folder))

describe('keyturn demo', () => {
  it('plays its eight steps through a real server, does not mind what is configured, and leaves nothing behind', async () => {
    const { code, stdout, stderr } = await runKeyturn(['demo'], {
      TMPDIR: folder,
      KEYTURN_LISTEN: 'nonsense',
      KEYTURN_DATABASE_URL: 'postgres://127.0.0.1:1/none',
      KEYTURN_DATA_DIR: '/nowhere',
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const steps = stdout.split('\n').filter((line) => /^ \d\. /.test(line))
    expect(steps.map((line) => line.slice(1, 2))).toEqual(['1', '2', '3', '4', '5', '6', '7', '8'])
    expect(steps[5]).toContain('the verifier of step 1 accepts both tokens')
    expect(stdout).toMatch(/\nEvery step held\.\n$/)
    expect(await readdir(folder)).toEqual([])
  })
})
