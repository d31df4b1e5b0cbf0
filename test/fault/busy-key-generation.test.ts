import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { RsaBits, WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { type Administration, administrationOf, administrationWith, refusalOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { type KeyturnProcess, removeFolder, startKeyturn } from '../support/keyturn.ts'

/** More than one key that is made and eight that wait. */
const CALLERS = 12

let server: KeyturnProcess
const ending = new AbortController()
beforeAll(async () => {
  server = await startKeyturn()
})
afterAll(async () => {
  ending.abort()
  await server?.kill()
  await removeFolder(server.dataDir)
})

/** Creates the slowest keys there are in loops, and returns how often that was refused as busy. */
function createInLoops({ keys }: Administration, until: AbortSignal): () => number {
  const config = { config: { case: 'rsa' as const, value: { bits: RsaBits.RSA_BITS_4096 } } }
  let refused = 0
  const loop = async () => {
    while (!until.aborted) {
      const creation = keys.createWebKey({ config }, { signal: until })
      await creation.catch(async () => {
        if (!until.aborted && (await refusalOf(creation)).reason === 'KEY_GENERATION_BUSY') refused += 1
      })
    }
  }
  for (let caller = 0; caller < CALLERS; caller += 1) void loop()
  return () => refused
}

/** Nothing that a web key signs, so that a revocation does not end it. */
async function withPersonalAccessToken(): Promise<Administration> {
  const { users } = await administrationOf(server)
  const userId = (await server.admin()).client_id.split('@')[0]!
  const expirationDate = timestampFromDate(new Date(Date.now() + 3_600_000))
  const { token } = await users.createPersonalAccessToken({ userId, expirationDate })
  return administrationWith(server, token)
}

it('revokes the active key while an administrator creates RSA keys of 4096 bits in loops', async () => {
  const administration = await withPersonalAccessToken()
  const { keys } = administration
  const [active] = (await keys.listWebKeys({})).webKeys

  const refused = createInLoops(administration, ending.signal)
  await eventually(() => expect(refused()).toBeGreaterThan(0))
  // More at once than may wait.
  const answers = await Promise.all(Array.from({ length: 10 }, () => keys.revokeWebKey({ keyId: active!.keyId })))
  ending.abort()

  const successors = new Set(answers.map(({ activeWebKey }) => activeWebKey?.keyId))
  expect(successors.size).toBe(1)
  expect([...successors]).not.toContain(active!.keyId)
  const { webKeys } = await keys.listWebKeys({ states: [WebKeyState.REVOKED] })
  expect(webKeys.map(({ keyId }) => keyId)).toEqual([active!.keyId])
})
