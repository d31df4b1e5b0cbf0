import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openInBrowser } from '../../../src/cli/console-command.ts'
import { removeFolder, temporaryFolder } from '../../support/keyturn.ts'

describe('an address that a server sent', () => {
  let folder: string
  beforeAll(async () => {
    folder = await temporaryFolder()
    for (const name of ['xdg-open', 'open']) {
      await writeFile(join(folder, name), '#!/bin/sh\n')
      await chmod(join(folder, name), 0o700)
    }
  })
  afterAll(() => removeFolder(folder))

  it.each([
    ['https://keyturn.example.com/console/#code=c', true],
    ['http://localhost:8080/console/#code=c', true],
    ['file:///etc/passwd', false],
    ['javascript:alert(1)', false],
    ['--version', false],
  ])('%s is opened in a browser: %s', async (url, isOpened) => {
    expect(await openInBrowser(url, { env: { DISPLAY: ':0', PATH: folder } })).toBe(isOpened)
  })
})
