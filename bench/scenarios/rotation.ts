/**
 * How long activating a key takes, and how long it takes another replica to sign with it.
 */
import { decodeProtectedHeader } from 'jose'
import { Administrator, requestToken } from '../contenders/administrator.ts'
import { type InstanceSettings, type Keyturn, postgresInstance, startKeyturn } from '../contenders/keyturn.ts'
import type { Place } from '../contenders/references.ts'
import { timesRow } from './rows.ts'
import type { Bench, Result } from './scenario.ts'

/** Longer than any replica may be behind while its database is there, in milliseconds. */
const PATIENCE_MILLIS = 30_000

/** Activations on PostgreSQL and embedded; delays with notifications and without. */
export async function rotation({ postgres, effort }: Bench, place: Place): Promise<Result> {
  const activations = async (settings: InstanceSettings) => {
    const rotator = await startRotator(await startKeyturn(settings, place))
    await times(10, rotator.activateNext)
    return await times(effort.activations, rotator.activateNext)
  }
  const onPostgres = postgresInstance(await postgres.createDatabase())
  const rows = [
    timesRow('an activation, PostgreSQL', await activations(onPostgres)),
    timesRow('an activation, embedded', await activations({})),
  ]
  for (const feed of ['listen', 'poll'] as const) {
    const settings = {
      ...postgresInstance(await postgres.createDatabase()),
      env: { KEYTURN_CHANGE_FEED: feed },
    }
    const rotator = await startRotator(await startKeyturn(settings, place))
    const other = await startKeyturn(settings, place)
    const delays = await propagation(rotator, other, effort.propagations[feed])
    rows.push(timesRow(`until another replica signs with it, ${feed}`, delays))
  }
  return { title: 'rotation', rows, targets: [], notes: ['The time of one token request is part of the delays.'] }
}

interface Rotator {
  readonly credentials: { readonly clientId: string; readonly clientSecret: string }
  /** Activates the key that does not sign, and returns its id. */
  readonly activateNext: () => Promise<string>
}

async function startRotator(keyturn: Keyturn): Promise<Rotator> {
  const credentials = await keyturn.admin()
  const administrator = new Administrator(keyturn, credentials)
  const keyIds = [await administrator.createKey('ES256'), await administrator.createKey('ES256')]
  let turn = 0
  const activateNext = async () => {
    turn += 1
    const keyId = keyIds[turn % 2] ?? ''
    await administrator.webKeys.activateWebKey({ keyId })
    return keyId
  }
  return { credentials, activateNext }
}

/** From when an activation was confirmed until another replica has used the key, in milliseconds. */
async function propagation(rotator: Rotator, other: Keyturn, count: number): Promise<number[]> {
  const delays: number[] = []
  for (let i = 0; i < count; i += 1) {
    const keyId = await rotator.activateNext()
    const confirmedAt = performance.now()
    for (;;) {
      const { kid } = decodeProtectedHeader(await requestToken(other.tokenUrl, rotator.credentials))
      const delay = performance.now() - confirmedAt
      if (kid === keyId) {
        delays.push(delay)
        break
      }
      if (delay > PATIENCE_MILLIS) throw new Error('a replica has not heard of an activation')
    }
  }
  return delays
}

async function times(count: number, work: () => Promise<unknown>): Promise<number[]> {
  const millis: number[] = []
  for (let i = 0; i < count; i += 1) {
    const startedAt = performance.now()
    await work()
    millis.push(performance.now() - startedAt)
  }
  return millis
}
