import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { type KeyturnProcess, removeFolder, startKeyturn, temporaryFolder } from '../support/keyturn.ts'

let dataDir: string
let server: KeyturnProcess | undefined
beforeAll(async () => {
  dataDir = await temporaryFolder()
})
afterEach(async () => {
  await server?.kill()
  server = undefined
})
afterAll(() => removeFolder(dataDir))

it("the first start writes the administrator's credentials, for the owner only, and is the only one [Spec §1]", async () => {
  server = await startKeyturn({ dataDir, makesDatabase: true })
  const { baseUrl, output } = server
  const file = join(dataDir, 'admin.json')
  const look = async () => ({ text: await readFile(file, 'utf8'), ...(await stat(file, { bigint: true })) })
  const before = await look()
  const credentials = JSON.parse(before.text)
  expect(credentials).toEqual({
    base_url: baseUrl,
    token_endpoint: `${baseUrl}/oauth/v2/token`,
    client_id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}@keyturn$/),
    client_secret: expect.stringMatching(/^[\w-]{43,}$/),
  })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect((await stat(join(dataDir, 'master.key'))).mode & 0o777).toBe(0o600)
  expect(output().stdout).toContain(`The administrator's credentials were written to ${file}.`)
  expect(output().stdout + output().stderr).not.toContain(credentials.client_secret)
  await server.stop()

  server = await startKeyturn({ dataDir })
  const after = await look()
  expect({ text: after.text, inode: after.ino, modified: after.mtimeNs }).toEqual({
    text: before.text,
    inode: before.ino,
    modified: before.mtimeNs,
  })
  expect((await readdir(dataDir)).filter((name) => name.startsWith('admin'))).toEqual(['admin.json'])
  expect(server.output().stdout).toContain('The instance was set up before')
})
