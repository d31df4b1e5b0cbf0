import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { State } from '../../gen/iam/webkey/v2beta/web_key_pb.js'
import { masterKeyOf } from '../../src/crypto/sealed-key.ts'
import { eventually } from '../support/eventually.ts'
import type { Keyturn } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { idOf, NEWER, OLDER, REMOVAL, type RotatedInstance, setUpInstance } from '../support/rotated-instance.ts'

let postgres: TestPostgres
let instance: RotatedInstance
beforeAll(() => {
  postgres = sharedPostgres()
})
beforeEach(async () => {
  instance = await setUpInstance(postgres)
})
afterEach(() => instance.stopAll())
afterAll(() => postgres?.stop())

async function keySetOf({ listenUrl }: Keyturn): Promise<JSONWebKeySet> {
  const response = await fetch(`${listenUrl}/.well-known/openid-configuration/jwks`)
  return (await response.json()) as JSONWebKeySet
}

/** Gets tokens from a server, without a pause, and verifies each with the key set of that server. */
function startLoad(server: Keyturn, instance: RotatedInstance) {
  const failures: unknown[] = []
  let verified = 0
  let going = true
  const work = async (): Promise<void> => {
    while (going) {
      try {
        const token = await instance.tokenOf(server)
        await jwtVerify(token, createLocalJWKSet(await keySetOf(server)))
        verified += 1
      } catch (error) {
        failures.push(error)
      }
    }
  }
  const done = work()
  return {
    verified: () => verified,
    stop: async () => {
      going = false
      await done
      return failures
    },
  }
}

/** Makes new web keys active, and deletes those before when the other server knows the new one, until it is stopped. */
function startRotating(server: Keyturn, other: Keyturn, instance: RotatedInstance) {
  let going = true
  let rotations = 0
  const work = async () => {
    while (going) {
      // With a new token each time: the key that signed the one before is deleted soon.
      const client = await instance.clientOf(server)
      const created = await instance.createKey(server)
      await client.activateWebKey({ keyId: created })
      // A replica that is behind by more rotations than there are keys left would publish none that its last tokens need.
      await eventually(async () => expect((await keySetOf(other)).keys.map(({ kid }) => kid)).toContain(created))
      const { webKeys } = await client.listWebKeys({})
      const inactive = webKeys.filter(({ state }) => state === State.INACTIVE).map(({ keyId }) => keyId)
      // The ones that still verify what was issued a moment ago stay.
      for (const keyId of inactive.slice(0, -6)) await client.deleteWebKey({ keyId })
      rotations += 1
    }
  }
  const done = work()
  return {
    rotations: () => rotations,
    stop: async () => {
      going = false
      await done
    },
  }
}

describe('rotating the master key on PostgreSQL', () => {
  it('fails no token while two replicas serve and one rotates web keys, and makes the old key useless', async () => {
    const stillOld = await instance.start(`${OLDER},${NEWER}`)
    const rolled = await instance.start(`${NEWER},${OLDER}`)
    for (let count = 0; count < 3; count += 1) await instance.createKey(stillOld)
    const loads = [startLoad(stillOld, instance), startLoad(rolled, instance)]
    const rotating = startRotating(rolled, stillOld, instance)
    try {
      const outputs: string[] = []
      for (let round = 0; round < 2; round += 1) {
        const keyId = await instance.createKey(stillOld)
        const { code, stdout } = await instance.rotate()
        expect(code).toBe(0)
        outputs.push(stdout)
        const resealed = (await instance.rows()).find(({ key_id }) => key_id === keyId)!
        expect(masterKeyOf(resealed.sealed_private_key)).toBe(idOf(NEWER))
      }
      expect(outputs[0]).toMatch(/^[56] of \d+ keys were sealed anew; all of them are sealed by /)
      for (const output of outputs) expect(output).toContain(REMOVAL)
      const [before, rotations] = [loads.map((load) => load.verified()), rotating.rotations()]
      await eventually(() => {
        for (const [i, load] of loads.entries()) expect(load.verified()).toBeGreaterThan(before[i]! + 20)
        expect(rotating.rotations()).toBeGreaterThan(rotations + 1)
      })
    } finally {
      await rotating.stop()
      expect(await Promise.all(loads.map((load) => load.stop()))).toEqual([[], []])
    }

    await instance.stop(stillOld)
    expect(await instance.rotate()).toMatchObject({ code: 0, stdout: expect.stringContaining(REMOVAL), stderr: '' })
    await instance.stop(rolled)
    expect(new Set(await instance.openAll(NEWER))).toEqual(new Set([idOf(NEWER)]))

    const after = await instance.start(NEWER)
    const load = startLoad(after, instance)
    await instance.createKey(after)
    await eventually(() => expect(load.verified()).toBeGreaterThan(0))
    expect(await load.stop()).toEqual([])
    const events = await postgres.query<{ actor: string; resource: string }>(
      "select actor, resource from audit_events where action = 'master_key/reseal'",
      [],
      instance.url,
    )
    expect(events.length).toBeGreaterThanOrEqual(5)
    for (const event of events)
      expect(event).toEqual({ actor: 'system', resource: expect.stringMatching(/^(web_keys\/.|integrity_key$)/) })
  })
})
