/**
 * What a process holds in memory for each user, after a collection: what the system counts depends on when it last had a reason to collect.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { heldMebibytes, INSPECTABLE } from '../../test/support/held-memory.ts'
import type { Credentials } from '../contenders/contender.ts'
import { type InstanceSettings, type Keyturn, startKeyturn } from '../contenders/keyturn.ts'
import type { Place } from '../contenders/references.ts'

/** Of all users, those before which nothing is counted: code is compiled and pools are filled then. */
const WARM_UP_SHARE = 0.1

/** What a process holds. */
export interface HeldMemory {
  /** With users who are few beside those of `kibibytesPerUser`, in MiB. */
  readonly mebibytes: number
  readonly kibibytesPerUser: number
}

/**
 * Starts another process of an instance, and measures it.
 *
 * @param request Has all these clients ask for a token.
 */
export async function heldByUsers(
  settings: InstanceSettings,
  {
    clients,
    request,
  }: {
    readonly clients: readonly Credentials[]
    readonly request: (keyturn: Keyturn, clients: readonly Credentials[]) => Promise<unknown>
  },
  place: Place,
): Promise<HeldMemory> {
  const keyturn = await startKeyturn({ ...settings, env: { ...settings.env, ...INSPECTABLE } }, place)
  const inspected = { output: () => ({ stdout: '', stderr: readFileSync(join(keyturn.dataDir, 'log'), 'utf8') }) }
  const warmUp = Math.round(clients.length * WARM_UP_SHARE)
  await request(keyturn, clients.slice(0, warmUp))
  const mebibytes = await heldMebibytes(inspected)
  await request(keyturn, clients.slice(warmUp))
  const grown = (await heldMebibytes(inspected)) - mebibytes
  await keyturn.stop()
  return { mebibytes, kibibytesPerUser: (grown * 1024) / (clients.length - warmUp) }
}
