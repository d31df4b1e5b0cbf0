/**
 * What must be true when a fault is over, in the database and through the API of every replica.
 */
import { expect } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import type { Administrator } from './administrator.ts'
import type { Send } from './http-client.ts'
import type { ChangeKind, Ledger } from './ledger.ts'
import type { PostgresServer } from './postgres-server.ts'
import type { Replicas } from './replicas.ts'
import { publishedKeyIds } from './verifier.ts'

const METHODS: Readonly<Record<ChangeKind, string>> = {
  create: 'CreateWebKey',
  activate: 'ActivateWebKey',
  delete: 'DeleteWebKey',
}

/** What is checked, and against what. */
export interface Aftermath {
  readonly ledger: Ledger
  readonly server: Pick<PostgresServer, 'query'>
  readonly replicas: Replicas
  readonly administrator: Administrator
  readonly send: Send
  readonly deletionsBegun: ReadonlySet<string>
}

/** Checks that every acknowledged change is there, and nothing that contradicts one. The rotation must have ended. */
export async function expectNothingLost({ ledger, server, deletionsBegun }: Aftermath): Promise<void> {
  const rows = await server.query<{ key_id: string; state: string }>('select key_id, state from web_keys')
  const states = new Map(rows.map(({ key_id, state }) => [key_id, state]))
  const created = ledger.keysThatWere('create')
  const activated = ledger.keysThatWere('activate')
  const deleted = ledger.keysThatWere('delete')

  const lost = created.filter((keyId) => !states.has(keyId) && !deletionsBegun.has(keyId))
  const risen = deleted.filter((keyId) => states.has(keyId))
  const forgotten = activated.filter((keyId) => states.get(keyId) === 'initial')
  expect({ lost, risen, forgotten }).toEqual({ lost: [], risen: [], forgotten: [] })

  const active = [...states].filter(([, state]) => state === 'active').map(([keyId]) => keyId)
  expect(active).toEqual([activated.at(-1)])

  // Besides the first key of the instance, which may be deleted or not, only unanswered creations may have made others.
  const others = [...states.keys()].filter((keyId) => !created.includes(keyId))
  expect(others.length).toBeLessThanOrEqual(ledger.unansweredCreations + 1)

  await expectAudited(ledger, server)
}

/** Every replica publishes and lists the keys that are in the database, in the same states. */
export async function expectAgreement({ server, replicas, administrator, send }: Aftermath): Promise<void> {
  const rows = await server.query<{ key_id: string; state: string }>('select key_id, state from web_keys')
  const keyIds = rows.map(({ key_id }) => key_id).sort()
  for (const replica of replicas.all) {
    await eventually(async () => expect(await publishedKeyIds(send, replica)).toEqual(keyIds))
    const outcome = await eventually(async () => {
      const answer = await administrator.call<{ webKeys: { keyId: string; state: string }[] }>(
        replica,
        'iam.webkey.v2beta.WebKeyService/ListWebKeys',
      )
      if (answer.kind !== 'done') throw new Error(`replica ${replica.name} does not list its keys: ${answer.kind}`)
      return answer.value
    })
    const listed = outcome.webKeys.map(({ keyId, state }) => `${keyId} ${state}`).sort()
    expect(listed).toEqual(rows.map(({ key_id, state }) => `${key_id} STATE_${state.toUpperCase()}`).sort())
    expect(await send(`${replica.url}/readyz`)).toMatchObject({ status: 200 })
  }
}

async function expectAudited(ledger: Ledger, server: Aftermath['server']): Promise<void> {
  const rows = await server.query<{ action: string; resource: string }>(
    `select action, resource from audit_events where outcome = 'ok'`,
  )
  const events = new Set(rows.map(({ action, resource }) => `${action.split('/')[1]} ${resource}`))
  const expected = ledger.changes.map(({ kind, keyId }) => `${METHODS[kind]} web_keys/${keyId}`)
  expect(expected.filter((event) => !events.has(event))).toEqual([])
}
