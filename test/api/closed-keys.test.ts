/**
 * Keys that a server cannot open, because it lacks the master key that sealed them: they must never sign.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { decodeProtectedHeader } from 'jose'
import { RotationStepKind } from '../../gen/iam/webkey/v2/rotation_pb.js'
import { type WebKey, WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type Administration, administrationWith, refusalOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { type Keyturn, removeFolder, requestToken, startKeyturnInProcess } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'

const [here, elsewhere] = [generateMasterKey(), generateMasterKey()]

let postgres: TestPostgres
let env: Record<string, string>
let server: Keyturn
/** Has a master key that the other lacks, and seals with it. */
let stranger: Keyturn
beforeAll(async () => {
  postgres = sharedPostgres()
})
beforeEach(async () => {
  await stop()
  env = {
    KEYTURN_DATABASE_URL: await postgres.createMigratedDatabase(),
    KEYTURN_BASE_URL: 'http://localhost:1',
    KEYTURN_ACTIVATION_GUARD: 'off',
    // Verifiers know a key once it is published.
    KEYTURN_JWKS_MAX_AGE: '0',
  }
  server = await startKeyturnInProcess({ env: { ...env, KEYTURN_MASTER_KEYS: here } })
  stranger = await startKeyturnInProcess({ env: { ...env, KEYTURN_MASTER_KEYS: `${elsewhere},${here}` } })
})
afterAll(async () => {
  await stop()
  await postgres?.stop()
})

async function stop(): Promise<void> {
  for (const running of [server, stranger]) {
    await running?.stop()
    if (running !== undefined) await removeFolder(running.dataDir)
  }
}

async function administration(replica = server): Promise<Administration> {
  return administrationWith(replica, await tokenOf())
}

async function tokenOf(): Promise<string> {
  return requestToken({ ...(await server.admin()), token_endpoint: `${server.listenUrl}/oauth/v2/token` })
}

const signerOf = async () => decodeProtectedHeader(await tokenOf()).kid

/** RSA is the kind of the policy. */
async function createKey(replica: Keyturn, kind: 'rsa' | 'ed25519'): Promise<WebKey> {
  const { keys } = await administration(replica)
  return (await keys.createWebKey({ config: { config: { case: kind, value: {} } } })).webKey!
}

const REFUSAL = {
  code: 'FailedPrecondition',
  reason: 'WEB_KEY_CANNOT_BE_OPENED',
  message: expect.stringContaining('KEYTURN_MASTER_KEYS'),
}

describe('a key that the server cannot open', () => {
  it('is not activated by hand, through neither service, and not rotated to; the key before signs on', async () => {
    const before = await signerOf()
    const { keyId } = await createKey(stranger, 'rsa')
    const { keys, webKeys, audit } = await administration()
    expect(await refusalOf(keys.activateWebKey({ keyId }))).toEqual(REFUSAL)
    expect(await refusalOf(webKeys.activateWebKey({ keyId }))).toEqual(REFUSAL)
    expect(await refusalOf(keys.rotateWebKey({}))).toEqual(REFUSAL)
    expect(await signerOf()).toBe(before)
    // A rotation that was refused is not asked for: nothing comes of it later.
    const { steps } = await keys.getRotationSchedule({ count: 1 })
    expect(steps).toMatchObject([{ kind: RotationStepKind.ACTIVATE, keyId }])
    expect(Number(steps[0]!.date!.seconds)).toBeGreaterThan(Date.now() / 1000 + 80 * 86_400)
    // Refusals are written down soon after the answer.
    await eventually(async () => {
      const { events } = await audit.listAuditEvents({ resource: `web_keys/${keyId}` })
      expect(events.map(({ outcome }) => outcome)).toContain('WEB_KEY_CANNOT_BE_OPENED')
    })
  })

  it('is passed over when another takes the place of a revoked one', async () => {
    const leaked = await signerOf()
    await createKey(stranger, 'rsa')
    const other = await createKey(server, 'ed25519')
    const first = await (await administration()).keys.revokeWebKey({ keyId: leaked! })
    expect(first.activeWebKey?.keyId).toBe(other.keyId)
    expect(await signerOf()).toBe(other.keyId)

    // There is no other: a new one is made.
    const { keys } = await administration()
    const second = await keys.revokeWebKey({ keyId: other.keyId })
    expect(second.activeWebKey).toMatchObject({ algorithm: 'RS256', state: WebKeyState.ACTIVE })
    expect(await signerOf()).toBe(second.activeWebKey?.keyId)
  })

  it('can be revoked, and the next one is rotated to', async () => {
    const { keyId } = await createKey(stranger, 'rsa')
    const { keys } = await administration()
    await keys.revokeWebKey({ keyId })
    const { keyId: next } = await createKey(server, 'rsa')
    expect((await keys.activateWebKey({ keyId: next })).webKey?.keyId).toBe(next)
    expect(await signerOf()).toBe(next)
  })

  it('is told of at the start, once', async () => {
    const { keyId } = await createKey(stranger, 'rsa')
    const second = await startKeyturnInProcess({ env: { ...env, KEYTURN_MASTER_KEYS: here } })
    const told = () =>
      second
        .output()
        .stderr.split('\n')
        .filter((line) => line.includes('cannot be opened'))
    await eventually(() => expect(told()).not.toEqual([]))
    await second.stop()
    await removeFolder(second.dataDir)
    expect(told()).toHaveLength(1)
    expect(JSON.parse(told()[0]!)).toMatchObject({ level: 'warn', keyId })
    expect(server.output().stderr).not.toContain('cannot be opened')
  })
})
