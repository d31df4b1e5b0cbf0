/** The `InstanceReader` on a database: every method reads one snapshot, in one transaction. */
import type { Transaction } from 'kysely'
import type { Revision } from '../../domain/changes.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import type { InstanceReader, InstanceState, InstanceStatus, NeededIdentities } from '../../domain/ports/instance.ts'
import { readIdentityChanges } from '../change/change-row.ts'
import { readStatus } from '../change/instance-row.ts'
import { readTrustedIssuers } from '../federation/federation-store.ts'
import { readFederatedUserIds } from '../identities/credential-rows.ts'
import { readServiceUsers } from '../identities/service-user-row.ts'
import { readRotation } from '../keys/rotation-row.ts'
import { readKeyRing } from '../keys/web-key-row.ts'
import { type Database, readSnapshot } from '../postgres/database.ts'
import type { Tables } from '../schema/tables.ts'

export function createInstanceReader({ db }: Pick<Database, 'db'>, macs: PublicKeyMacs): InstanceReader {
  const snapshot = <T>(read: (trx: Transaction<Tables>) => Promise<T>) => readSnapshot(db, read)

  return {
    status: () => snapshot(readStatus),

    load: (needed = {}) => snapshot(async (trx) => readState({ trx, macs }, await readStatus(trx), needed)),

    loadSince: (revision, choose) =>
      snapshot(async (trx) => {
        const status = await readStatus(trx)
        const changes = await readIdentityChanges(trx, revision, status)
        return { ...(await readState({ trx, macs }, status, choose(changes))), changes }
      }),

    findServiceUser: (userId) =>
      snapshot(async (trx) => ({
        ...revisionOf(await readStatus(trx)),
        user: (await readServiceUsers(trx, [userId], macs)).get(userId),
      })),

    findFederatedUsers: (subject) =>
      snapshot(async (trx) => ({
        ...revisionOf(await readStatus(trx)),
        userIds: await readFederatedUserIds(trx, subject),
      })),
  }
}

function revisionOf({ version, changedAt }: InstanceStatus): Revision {
  return { version, changedAt }
}

interface Reading {
  readonly trx: Transaction<Tables>
  readonly macs: PublicKeyMacs
}

async function readState(
  { trx, macs }: Reading,
  status: InstanceStatus,
  { userIds = [] }: NeededIdentities,
): Promise<InstanceState> {
  return {
    ...status,
    ring: await readKeyRing(trx, macs),
    sealedActiveKey: await readSealedActiveKey(trx),
    rotation: await readRotation(trx),
    trustedIssuers: await readTrustedIssuers(trx, macs),
    users: await readServiceUsers(trx, userIds, macs),
  }
}

/** A serving process keeps no other private key open than the active one. */
async function readSealedActiveKey(trx: Transaction<Tables>): Promise<string | null> {
  const row = await trx
    .selectFrom('web_keys')
    .select('sealed_private_key')
    .where('state', '=', 'active')
    .executeTakeFirst()
  return row?.sealed_private_key ?? null
}
