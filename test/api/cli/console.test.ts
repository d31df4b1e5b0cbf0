import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openBrowser } from '../../support/console-browser.ts'
import { type Keyturn, removeFolder, runKeyturnInProcess, temporaryFolder } from '../../support/keyturn.ts'
import { type OAuthInstance, startOAuthInstance } from '../../support/oauth-instance.ts'

let instance: OAuthInstance
let server: Keyturn
let folder: string
beforeAll(async () => {
  instance = await startOAuthInstance()
  server = instance.keyturn
  folder = await temporaryFolder()
  // In place of the program that starts browsers.
  await writeFile(join(folder, 'xdg-open'), `#!/bin/sh\nprintf '%s' "$*" > '${folder}/opened'\n`)
  await chmod(join(folder, 'xdg-open'), 0o755)
})
afterAll(async () => {
  await instance?.stop()
  await removeFolder(folder)
})

const settings = () => ({ KEYTURN_DATA_DIR: server.dataDir, NO_COLOR: '1' })
const codeIn = (url: string) => new URLSearchParams(new URL(url).hash.slice(1)).get('code') ?? ''

describe('keyturn console', () => {
  it('prints a link that signs a browser in, and nothing else', async () => {
    const { code, stdout, stderr } = await runKeyturnInProcess(['console'], settings())
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(new RegExp(`^${server.baseUrl}/console/#code=[\\w-]+\n$`))
    expect((await openBrowser(server).signIn(codeIn(stdout.trim()))).status).toBe(204)
  })
})

describe('the sessions of the console', () => {
  it('are listed with their user, and end one by one', async () => {
    const browser = openBrowser(server)
    const link = await runKeyturnInProcess(['console'], settings())
    await browser.signIn(codeIn(link.stdout.trim()))
    const { userId } = (await (await browser.send('/console/session')).json()) as { userId: string }
    const listed = await runKeyturnInProcess(['console', 'sessions', '--json'], settings())
    const { sessions } = JSON.parse(listed.stdout) as { sessions: { sessionId: string; userId: string }[] }
    const newest = sessions.at(-1)!
    expect(newest.userId).toBe(userId)

    const table = await runKeyturnInProcess(['console', 'sessions'], settings())
    expect(table.stdout).toMatch(new RegExp(`UNREADABLE\n.*${newest.sessionId}.* false\n`, 's'))
    const ended = await runKeyturnInProcess(['console', 'end-session', newest.sessionId], settings())
    expect(ended).toMatchObject({ code: 0, stdout: 'the session has ended\n' })
    expect((await browser.send('/console/session')).status).toBe(401)
    const again = await runKeyturnInProcess(['console', 'end-session', newest.sessionId], settings())
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no such session') })
  })
})
