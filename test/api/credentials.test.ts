import { generateKeyPairSync } from 'node:crypto'
import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { type Administration, administrationOf, pagesOf, refusalOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

const HOUR = 3_600_000

let instance: OAuthInstance
let admin: Administration
let userId: string

beforeAll(async () => {
  instance = await startOAuthInstance()
  admin = await administrationOf(instance.keyturn)
})

beforeEach(async () => {
  ;({ userId } = await instance.addRobot())
  const { secrets } = await admin.users.listClientSecrets({ userId })
  for (const { secretId } of secrets) await admin.users.deleteClientSecret({ userId, secretId })
})

afterAll(() => instance?.stop())

function inFuture(milliseconds = HOUR): Timestamp {
  return timestampFromDate(new Date(Date.now() + milliseconds))
}

async function mayGetToken({ clientId, clientSecret }: { clientId: string; clientSecret: string }): Promise<boolean> {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
  return (await instance.postForm(form)).ok
}

function publicJwk(): string {
  return JSON.stringify(generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }))
}

/** What all kinds of credentials have in common. */
const KINDS = [
  {
    kind: 'client secret',
    add: async (expirationDate?: Timestamp) => {
      const { secret } = await admin.users.generateClientSecret({
        userId,
        ...(expirationDate === undefined ? {} : { expirationDate }),
      })
      return secret!.secretId
    },
    remove: (secretId: string) => admin.users.deleteClientSecret({ userId, secretId }),
    list: async (page: object = {}) => {
      const { secrets, nextPageToken } = await admin.users.listClientSecrets({ userId, ...page })
      return { ids: secrets.map(({ secretId }) => secretId), nextPageToken }
    },
    reason: 'CLIENT_SECRET',
  },
  {
    kind: 'key',
    add: async (expirationDate?: Timestamp) => {
      const { keys } = await admin.users.addUserKey({
        userId,
        publicJwk: publicJwk(),
        ...(expirationDate === undefined ? {} : { expirationDate }),
      })
      return keys[0]!.keyId
    },
    remove: (keyId: string) => admin.users.removeUserKey({ userId, keyId }),
    list: async (page: object = {}) => {
      const { keys, nextPageToken } = await admin.users.listUserKeys({ userId, ...page })
      return { ids: keys.map(({ keyId }) => keyId), nextPageToken }
    },
    reason: 'USER_KEY',
  },
  {
    kind: 'personal access token',
    add: async (expirationDate = inFuture()) => {
      const { personalAccessToken } = await admin.users.createPersonalAccessToken({ userId, expirationDate })
      return personalAccessToken!.tokenId
    },
    remove: (tokenId: string) => admin.users.revokePersonalAccessToken({ userId, tokenId }),
    list: async (page: object = {}) => {
      const { personalAccessTokens, nextPageToken } = await admin.users.listPersonalAccessTokens({ userId, ...page })
      return { ids: personalAccessTokens.map(({ tokenId }) => tokenId), nextPageToken }
    },
    reason: 'PERSONAL_ACCESS_TOKEN',
  },
]

describe.each(KINDS)('a $kind', ({ add, remove, list, reason }) => {
  it('is added, listed oldest first in pages, and removed', async () => {
    const ids: string[] = []
    for (let i = 0; i < 7; i += 1) ids.push(await add())
    const pages = await pagesOf((pageToken) => list({ pageSize: 3, pageToken }))
    expect(pages.map((page) => page.ids)).toEqual([ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)])

    await remove(ids[3]!)
    expect((await list()).ids).toEqual(ids.toSpliced(3, 1))
    expect(await refusalOf(remove(ids[3]!))).toMatchObject({ code: 'NotFound', reason: `${reason}_NOT_FOUND` })
  })

  it('does not end in the past, or at no time at all', async () => {
    expect(await refusalOf(add(inFuture(-HOUR)))).toMatchObject({
      code: 'InvalidArgument',
      reason: 'EXPIRATION_IN_PAST',
    })
    for (const wrong of [{ seconds: 10n ** 15n }, { seconds: 0n, nanos: -1 }]) {
      const error = await refusalOf(add({ ...inFuture(), ...wrong }))
      expect(error).toMatchObject({ code: 'InvalidArgument', message: expect.stringContaining('expiration_date') })
    }
    expect((await list()).ids).toEqual([])
  })
})

describe('a client secret', () => {
  it('is shown once, and works at once [Spec §5]', async () => {
    const expirationDate = inFuture()
    const generated = await admin.users.generateClientSecret({ userId, expirationDate })
    expect(generated.clientId).toMatch(new RegExp(`^${userId}@`))
    expect(generated.clientSecret.length).toBeGreaterThan(40)
    expect(generated.secret).toMatchObject({ expirationDate })
    expect(await mayGetToken(generated)).toBe(true)

    const listed = await admin.post('iam.user.v2.ServiceUserService/ListClientSecrets', { userId })
    expect(JSON.stringify(listed.body)).not.toContain(generated.clientSecret)
    expect(instance.keyturn.output().stderr).not.toContain(generated.clientSecret)
  })

  it('is rotated: two work, the old one is deactivated and does not any more [Spec §5]', async () => {
    const old = await admin.users.generateClientSecret({ userId })
    const secretId = old.secret!.secretId
    const next = await admin.users.generateClientSecret({ userId })
    expect(await Promise.all([mayGetToken(old), mayGetToken(next)])).toEqual([true, true])

    const { secret } = await admin.users.deactivateClientSecret({ userId, secretId })
    expect(secret?.deactivationDate).toBeDefined()
    expect(await Promise.all([mayGetToken(old), mayGetToken(next)])).toEqual([false, true])

    const again = await admin.users.deactivateClientSecret({ userId, secretId })
    expect(again.secret?.deactivationDate).toEqual(secret?.deactivationDate)
    await admin.users.deleteClientSecret({ userId, secretId })
    expect((await admin.users.listClientSecrets({ userId })).secrets.map((left) => left.secretId)).toEqual([
      next.secret!.secretId,
    ])
  })

  it('knows the minute in which it was last used, once the server has written it down', async () => {
    const replica = await instance.startReplica()
    const used = await admin.users.generateClientSecret({ userId })
    const { secret: unused } = await admin.users.generateClientSecret({ userId })
    const form = { grant_type: 'client_credentials', client_id: used.clientId, client_secret: used.clientSecret }
    const before = Date.now()
    await eventually(async () => expect((await instance.postForm(form, {}, replica)).status).toBe(200))
    await replica.stop()

    const { secrets } = await admin.users.listClientSecrets({ userId })
    const lastUse = secrets.find(({ secretId }) => secretId === used.secret?.secretId)?.lastUseDate
    expect(Number(lastUse?.seconds)).toBeGreaterThanOrEqual(Math.floor(before / 60_000) * 60)
    expect(Number(lastUse?.seconds) % 60).toBe(0)
    expect(secrets.find(({ secretId }) => secretId === unused?.secretId)?.lastUseDate).toBeUndefined()
  })
})

describe('a key', () => {
  it('may come with others in a set', async () => {
    const set = { keys: [JSON.parse(publicJwk()), JSON.parse(publicJwk())] as object[] }
    const { keys } = await admin.users.addUserKey({ userId, publicJwk: JSON.stringify(set) })
    expect(keys.map((key) => JSON.parse(key.publicJwk) as object)).toEqual(set.keys)
  })

  it.each([
    ['no key', '{}'],
    ['private', JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }))],
  ])('that is %s is refused', async (_, text) => {
    const error = await refusalOf(admin.users.addUserKey({ userId, publicJwk: text }))
    expect(error).toMatchObject({ code: 'InvalidArgument', reason: 'USER_KEY_INVALID' })
    expect(error.message).not.toContain(text)
    expect((await admin.users.listUserKeys({ userId })).keys).toEqual([])
  })
})
