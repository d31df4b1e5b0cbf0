/**
 * How long the verifier of the documentation trusts a key that was revoked, and what the cache of jose does without the
 * setting that is documented. Its cache goes by `Date.now`, which is set here.
 */
import { readFileSync } from 'node:fs'
import { symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { createRemoteJWKSet, decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose'
import { administrationOf } from '../support/administration.ts'
import { type Keyturn, removeFolder, requestToken, startKeyturnInProcess, temporaryFolder } from '../support/keyturn.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const KEY_SET = '/.well-known/openid-configuration/jwks'
/** `KEYTURN_JWKS_MAX_AGE`, in milliseconds. */
const CACHE_TIME = 300_000
const FETCHED_AT = Date.now()
const NO_KEY = expect.objectContaining({ code: 'ERR_JWKS_NO_MATCHING_KEY' })

let server: Keyturn
let folder: string
let documented: (token: string) => Promise<JWTPayload>
let projectScope: string

beforeAll(async () => {
  folder = await temporaryFolder()
  server = await startKeyturnInProcess()
  const { projects } = await administrationOf(server)
  const { projectId } = (await projects.listProjects({})).projects[0]!
  projectScope = `urn:service:iam:org:project:id:${projectId}:aud`
  const page = readFileSync(join(ROOT, 'docs/verifying-tokens.md'), 'utf8')
  const code = /^```js\n(\/\/ verify\.mjs\n.*?)^```$/ms.exec(page)![1]!
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const file = join(folder, 'verify.mjs')
  await writeFile(file, code.replace('http://localhost:8080', server.baseUrl).replace('PROJECT_ID', projectId))
  documented = ((await import(file)) as { verify: typeof documented }).verify
})
afterEach(() => {
  jest.restoreAllMocks()
})
afterAll(async () => {
  await server?.stop()
  if (server !== undefined) await removeFolder(server.dataDir)
  await removeFolder(folder)
})

/** What comes of it when so many milliseconds have passed since the verifiers fetched the key set. */
async function after<T>(passed: number, verification: () => Promise<T>): Promise<T> {
  const clock = jest.spyOn(Date, 'now').mockReturnValue(FETCHED_AT + passed)
  try {
    return await verification()
  } finally {
    clock.mockRestore()
  }
}

describe('a key that is revoked right after a verifier fetched the key set', () => {
  it('is refused by the verifier of the documentation when the cache time is over, and by jose alone after twice that', async () => {
    const token = await requestToken(await server.admin(), projectScope)
    const keySet = createRemoteJWKSet(new URL(KEY_SET, server.baseUrl))
    const withDefaults = (jwt: string) => jwtVerify(jwt, keySet)
    await after(0, () => Promise.all([documented(token), withDefaults(token)]))

    const { keys } = await administrationOf(server)
    const { trustedUntil, webKey } = await keys.revokeWebKey({ keyId: decodeProtectedHeader(token).kid! })
    expect(Number(trustedUntil!.seconds - webKey!.revocationDate!.seconds) * 1000).toBe(CACHE_TIME)

    await after(CACHE_TIME - 1, () => documented(token))
    await expect(after(CACHE_TIME, () => documented(token))).rejects.toEqual(NO_KEY)
    await after(2 * CACHE_TIME - 1, () => withDefaults(token))
    await expect(after(2 * CACHE_TIME, () => withDefaults(token))).rejects.toEqual(NO_KEY)
  })
})
