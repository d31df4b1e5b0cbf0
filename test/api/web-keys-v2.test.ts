import { timestampDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { RotationStepKind } from '../../gen/iam/webkey/v2/rotation_pb.js'
import { EcdsaCurve, type WebKey, WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { WebKeyService } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { State } from '../../gen/iam/webkey/v2beta/web_key_pb.js'
import type { RotationPolicy } from '../../src/domain/keys/rotation-policy.ts'
import { type Administration, administrationOf, refusalOf } from '../support/administration.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'
import { clientOf, TRANSPORTS, type TransportName } from '../support/web-key-client.ts'

const SERVICE = 'iam.webkey.v2.WebKeyService'
const ED25519 = { config: { case: 'ed25519', value: {} } } as const
const DAY = 86_400n

let instance: OAuthInstance
beforeAll(async () => {
  instance = await startOAuthInstance({ KEYTURN_ACTIVATION_GUARD: 'off', KEYTURN_MAX_WEB_KEYS: '200' })
})
afterAll(() => instance?.stop())

/** With a new token: the key of an older one may be gone. */
const administration = (): Promise<Administration> => administrationOf(instance.keyturn)

async function newKey(admin: Administration): Promise<WebKey> {
  return (await admin.keys.createWebKey({ config: ED25519 })).webKey!
}

async function inState(admin: Administration, state: WebKeyState): Promise<WebKey[]> {
  return (await admin.keys.listWebKeys({ states: [state] })).webKeys
}

describe('the web key service, version 2', () => {
  it.each(Object.keys(TRANSPORTS) as TransportName[])('has every method over %s', async (transport) => {
    const { token } = await administration()
    const client = clientOf(WebKeyService, instance.keyturn.listenUrl, { token, transport })
    // The rotation that was asked for over the transport before may have made a key in the meantime.
    const { webKeys: left } = await client.listWebKeys({ states: [WebKeyState.INITIAL] })
    for (const { keyId } of left) await client.revokeWebKey({ keyId })
    const created = (await client.createWebKey({ config: ED25519 })).webKey!
    expect(created).toMatchObject({ algorithm: 'EdDSA', state: WebKeyState.INITIAL, hasPrivateKey: true })
    expect(created.publicationDate).toBeDefined()
    expect((await client.getWebKey({ keyId: created.keyId })).webKey).toEqual(created)

    const [before] = (await client.listWebKeys({ states: [WebKeyState.ACTIVE] })).webKeys
    const activated = await client.activateWebKey({ keyId: created.keyId })
    expect(activated.webKey).toMatchObject({ keyId: created.keyId, state: WebKeyState.ACTIVE })
    expect(timestampDate(activated.knownFrom ?? created.creationDate!).getTime()).toBe(
      timestampDate(created.creationDate!).getTime(),
    )

    const { policy } = await client.getRotationPolicy({})
    expect(policy).toMatchObject({ enabled: true, keepStandby: true, rotationInterval: { seconds: 90n * DAY } })
    const updated = await client.updateRotationPolicy({ policy: policy!, updateMask: { paths: ['enabled', 'config'] } })
    expect(updated.policy).toEqual(policy)
    const { steps } = await client.getRotationSchedule({})
    expect(steps).toHaveLength(10)
    expect(steps[0]).toMatchObject({ kind: RotationStepKind.CREATE, keyId: '' })

    const rotated = await client.rotateWebKey({})
    expect(rotated).toMatchObject({ done: false, rotationDate: expect.anything() })
    const standby = (await client.createWebKey({ config: ED25519 })).webKey!
    await client.activateWebKey({ keyId: standby.keyId })
    const revoked = await client.revokeWebKey({ keyId: created.keyId })
    expect(revoked).toMatchObject({
      webKey: { keyId: created.keyId, state: WebKeyState.REVOKED, hasPrivateKey: false },
      activeWebKey: { keyId: standby.keyId, state: WebKeyState.ACTIVE },
    })
    // The key that has signed the token of these calls.
    expect((await client.deleteWebKey({ keyId: before!.keyId })).deletionDate).toBeDefined()
  })

  it('lists the states that are asked for, and revoked keys only then', async () => {
    const admin = await administration()
    const [kept, leaked] = [await newKey(admin), await newKey(admin)]
    const { webKey: revoked } = await admin.keys.revokeWebKey({ keyId: leaked.keyId })
    const everything = await admin.keys.listWebKeys({})
    expect(everything.webKeys.map(({ keyId }) => keyId)).not.toContain(leaked.keyId)
    expect(everything.webKeys.some(({ state }) => state === WebKeyState.ACTIVE)).toBe(true)
    expect(await inState(admin, WebKeyState.REVOKED)).toContainEqual(revoked)

    const { webKeys } = await admin.keys.listWebKeys({ states: [WebKeyState.REVOKED, WebKeyState.INITIAL] })
    const ids = webKeys.map(({ keyId }) => keyId)
    expect(ids).toEqual(expect.arrayContaining([kept.keyId, leaked.keyId]))
    expect(new Set(webKeys.map(({ state }) => state))).toEqual(new Set([WebKeyState.REVOKED, WebKeyState.INITIAL]))
    const dates = webKeys.map(({ creationDate }) => timestampDate(creationDate!).getTime())
    expect(dates).toEqual(dates.toSorted((a, b) => a - b))

    // Zero is "no state" to protobuf: nothing is in it.
    expect((await admin.keys.listWebKeys({ states: [WebKeyState.UNSPECIFIED] })).webKeys).toEqual([])
    expect((await admin.post(`${SERVICE}/ListWebKeys`, { states: ['STATE_ACTIVE'] })).body.code).toBe(
      'invalid_argument',
    )
    expect(await refusalOf(admin.keys.listWebKeys({ states: [9 as WebKeyState] }))).toMatchObject({
      reason: 'INVALID_ARGUMENT',
    })
  })

  it('works on the same keys as the beta, which never sees a revoked one', async () => {
    const admin = await administration()
    const { details } = await admin.webKeys.createWebKey({ config: ED25519 })
    const keyId = details!.keyId
    expect((await admin.keys.getWebKey({ keyId })).webKey).toMatchObject({ state: WebKeyState.INITIAL })
    await admin.keys.activateWebKey({ keyId })
    const betaState = async () =>
      (await admin.webKeys.listWebKeys({})).webKeys.find((key) => key.keyId === keyId)?.state
    expect(await betaState()).toBe(State.ACTIVE)

    const [other] = [await newKey(admin)]
    await admin.webKeys.activateWebKey({ keyId: other.keyId })
    expect((await admin.keys.getWebKey({ keyId })).webKey).toMatchObject({
      state: WebKeyState.INACTIVE,
      activationDate: expect.anything(),
      deactivationDate: expect.anything(),
    })
    await admin.keys.revokeWebKey({ keyId })
    expect(await betaState()).toBeUndefined()
    for (const call of [admin.webKeys.activateWebKey({ keyId }), admin.webKeys.deleteWebKey({ keyId })]) {
      expect(await refusalOf(call)).toMatchObject({ code: 'NotFound', reason: 'WEB_KEY_NOT_FOUND' })
    }
    expect((await admin.keys.getWebKey({ keyId })).webKey?.state).toBe(WebKeyState.REVOKED)
  })
})

describe('changing the rotation policy', () => {
  const update = async (policy: object, ...paths: string[]) => {
    const { post } = await administration()
    const { status, body } = await post(`${SERVICE}/UpdateRotationPolicy`, { policy, updateMask: paths.join(',') })
    const details = (body.details ?? []) as {
      type: string
      debug?: { reason?: string; metadata?: { field?: string } }
    }[]
    return { status, body, text: JSON.stringify(body), info: details.map(({ debug }) => debug).find((d) => d?.reason) }
  }

  it('changes only what the mask names', async () => {
    const before = (await update({ keepStandby: true }, 'keepStandby')).body.policy as object
    const { status, body } = await update(
      { rotationInterval: '2592000s', keepStandby: false, enabled: false },
      'rotationInterval',
    )
    expect({ status, policy: body.policy }).toEqual({
      status: 200,
      policy: { ...before, rotationInterval: '2592000s' },
    })
    await update({ rotationInterval: '7776000s' }, 'rotationInterval')
  })

  it('changes the kind of the keys that are made', async () => {
    const admin = await administration()
    const { policy } = await admin.keys.updateRotationPolicy({
      policy: { config: { config: { case: 'ecdsa', value: { curve: EcdsaCurve.P384 } } } },
      updateMask: { paths: ['config'] },
    })
    expect(policy?.config).toMatchObject({ config: { case: 'ecdsa', value: { curve: EcdsaCurve.P384 } } })
    expect((await update({ config: { ecdsa: {} } }, 'config')).text).toContain('curve')
    expect((await update({ config: {} }, 'config')).status).toBe(400)
    expect((await update({ config: { rsa: {} } }, 'config')).body.policy).toMatchObject({
      config: { rsa: { bits: 'RSA_BITS_2048', hasher: 'RSA_HASHER_SHA256' } },
    })
  })

  it.each([
    ['retention', { retention: '60s' }, 'retention'],
    ['rollback_window', { rollbackWindow: '315360001s' }, 'rollbackWindow'],
  ])('is refused if %s would break something: %j', async (field, policy, path) => {
    const { status, info, body } = await update(policy, path)
    expect(status).toBe(400)
    expect(info).toMatchObject({ reason: 'ROTATION_POLICY_INVALID', metadata: { field } })
    expect(body.message).toContain(field)
  })

  it('can switch off a policy that the settings of today would not allow, but not on again', async () => {
    const set = async (values: Partial<RotationPolicy>) => {
      const { policy } = await instance.database.db.selectFrom('rotation').select('policy').executeTakeFirstOrThrow()
      const changed = JSON.stringify({ ...(policy as RotationPolicy), ...values })
      await instance.database.db.updateTable('rotation').set({ policy: changed }).execute()
    }
    const retentionSeconds = 7 * 86_400
    await set({ retentionSeconds: 60 })
    try {
      expect((await update({ enabled: false }, 'enabled')).body.policy).toMatchObject({ retention: '60s' })
      expect((await update({ enabled: true }, 'enabled')).info).toMatchObject({ metadata: { field: 'retention' } })
    } finally {
      await set({ retentionSeconds, enabled: true })
    }
  })

  it.each([
    ['a fraction of a second', { retention: '700000.5s' }, ['retention'], 'policy.retention: must be in whole seconds'],
    ['no value', {}, ['retention'], 'policy.retention: must be set'],
    ['no mask', { enabled: true }, [], 'update_mask'],
  ])('is refused with %s', async (_, policy, paths, message) => {
    const answer = await update(policy, ...paths)
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 400, code: 'invalid_argument' })
    expect(answer.text).toContain(message)
  })
})

describe('the audit trail of version 2', () => {
  it('names the key that a rotation out of turn has activated, and notes the request for one once', async () => {
    const admin = await administration()
    const rotations = async () => {
      const { events } = await admin.audit.listAuditEvents({ resource: 'web_keys', pageSize: 1000 })
      return events.filter(({ action }) => action === `${SERVICE}/RotateWebKey`).map(({ resource }) => resource)
    }
    const before = await rotations()
    await admin.keys.activateWebKey({ keyId: (await newKey(admin)).keyId })
    // Verifiers do not know it yet. Without one, the server would make one itself while this goes on.
    const { webKey: standby } = await admin.keys.createWebKey({ config: { config: { case: 'rsa', value: {} } } })
    const first = await admin.keys.rotateWebKey({})
    const second = await admin.keys.rotateWebKey({})
    expect([first.done, second.done]).toEqual([false, false])
    expect(await rotations()).toEqual(['web_keys', ...before])

    // As if verifiers had known it for an hour.
    await sql`
      update web_keys set creation_date = creation_date - interval '1 hour', publication_date = publication_date - interval '1 hour'
        where key_id = ${standby!.keyId}`.execute(instance.database.db)
    const third = await admin.keys.rotateWebKey({})
    expect(third).toMatchObject({ done: true, webKey: { keyId: standby!.keyId, state: WebKeyState.ACTIVE } })
    expect((await rotations())[0]).toBe(`web_keys/${standby!.keyId}`)
    expect((await inState(admin, WebKeyState.ACTIVE)).map(({ keyId }) => keyId)).toEqual([standby!.keyId])
  })
})
