/**
 * The `InstanceInitializer` on a database: one transaction that writes the issuer, the integrity key, and the first project,
 * administrator, secret and web key.
 */
import { sql, type Transaction } from 'kysely'
import { ANY_USER } from '../../domain/changes.ts'
import { SYSTEM } from '../../domain/identities/authority.ts'
import type { ClientSecret } from '../../domain/identities/credential.ts'
import { createProject } from '../../domain/identities/project.ts'
import { createServiceUser, type ServiceUser } from '../../domain/identities/service-user.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { DEFAULT_ROTATION_POLICY } from '../../domain/keys/rotation-policy.ts'
import { activate, createWebKey } from '../../domain/keys/web-key.ts'
import type {
  FirstAdministrator,
  FirstConfiguration,
  FirstContent,
  InstanceInitializer,
} from '../../domain/ports/instance.ts'
import { insertAuditEvents } from '../audit/audit-event-row.ts'
import { bumpVersion, isInitialised, lockInstance, readChangeTime } from '../change/instance-row.ts'
import { allowPlanning, writePlan } from '../configuration/configuration-store.ts'
import { readConfiguredState } from '../configuration/configured-state.ts'
import { writeProjects } from '../identities/project-row.ts'
import { writeServiceUsers } from '../identities/service-user-changes.ts'
import { writeRotation } from '../keys/rotation-row.ts'
import { toNewRow } from '../keys/web-key-row.ts'
import type { Database } from '../postgres/database.ts'
import { assertPrimary } from '../postgres/server-state.ts'
import { usingStorage, usingStorageWithRetries } from '../postgres/storage-errors.ts'
import type { Tables } from '../schema/tables.ts'

const ADMINISTRATOR_NAME = 'administrator'
/** How long `beforeCommit` may take. */
const FILE_MILLIS = 20_000
const NOT_SET_UP_YET = 'the instance has not been set up: "keyturn serve" on its primary does that'
const BOOTSTRAP = { ...SYSTEM, action: 'bootstrap' }

export function createInstanceInitializer(database: Database): InstanceInitializer {
  const { db } = database
  return {
    isInitialised: async () => {
      const done = await usingStorageWithRetries(() => isInitialised(db))
      if (!done) await assertPrimary(db, NOT_SET_UP_YET)
      return done
    },

    // Without retries: `beforeCommit` has effects outside the database.
    initialise: (content, beforeCommit) =>
      usingStorage(() =>
        db
          .transaction()
          .setIsolationLevel('read committed')
          .execute(async (trx) => {
            if ((await lockInstance(trx)).initialised) return false
            const now = await readChangeTime(trx)
            const { issuer } = content
            await trx.updateTable('instance').set({ issuer }).where('id', '=', 1).execute()
            const resources = await writeEverything(trx, { ...content, now })
            const events = ['instance', ...resources].map((resource) => ({ ...BOOTSTRAP, resource }))
            await insertAuditEvents(trx, events, { at: now })
            await bumpVersion(trx, database, { at: now, users: ANY_USER })
            await allowForFile(trx)
            await beforeCommit()
            return true
          }),
      ),
  }
}

/**
 * Writing a file can take long, and the lock is held meanwhile. This transaction alone may be silent for that long, because other
 * replicas can do nothing before it ends.
 */
async function allowForFile(trx: Transaction<Tables>): Promise<void> {
  await sql`set local idle_in_transaction_session_timeout = ${sql.lit(FILE_MILLIS)}`.execute(trx)
}

/** @returns The resources of further audit events. */
async function writeEverything(
  trx: Transaction<Tables>,
  { owner, firstKey, integrity, now }: FirstContent & { readonly now: Date },
): Promise<readonly string[]> {
  const key = activate(createWebKey(firstKey, now), now)
  await trx
    .insertInto('web_keys')
    .values(toNewRow(key, firstKey.sealedPrivateKey, integrity.publicKeys))
    .execute()
  await writeRotation(trx, { policy: DEFAULT_ROTATION_POLICY, requestedAt: null })
  const initialised = { initialised_at: now, sealed_integrity_key: integrity.sealedIntegrityKey }
  await trx.updateTable('instance').set(initialised).where('id', '=', 1).execute()
  if (owner.kind === 'configuration') return await writeConfiguration(trx, owner, { macs: integrity.publicKeys, now })
  await writeAdministrator(trx, owner, { macs: integrity.publicKeys, now })
  return []
}

async function writeConfiguration(
  trx: Transaction<Tables>,
  { subject, label, decide }: FirstConfiguration,
  { macs, now }: { readonly macs: PublicKeyMacs; readonly now: Date },
): Promise<readonly string[]> {
  await allowPlanning(trx)
  const state = await readConfiguredState({ db: trx, macs }, subject)
  const plan = decide(state, { clock: now, date: now })
  await writePlan({ trx, macs, label }, state, plan)
  return plan.resources
}

async function writeAdministrator(
  trx: Transaction<Tables>,
  { userId, projectId, projectName, secretId, secretHash }: FirstAdministrator,
  { macs, now }: { readonly macs: PublicKeyMacs; readonly now: Date },
): Promise<void> {
  const facts = { userId, name: ADMINISTRATOR_NAME, projectId, projectName, clientCredentialsEnabled: true }
  const dates = { createdAt: now, expiresAt: null, deactivatedAt: null, lastUsedAt: null }
  const secret: ClientSecret = { kind: 'client_secret', credentialId: secretId, hash: secretHash, ...dates }
  const user: ServiceUser = { ...createServiceUser(facts, now), instanceRoles: ['IAM_OWNER'], credentials: [secret] }
  await writeProjects(trx, [[undefined, createProject(projectId, projectName, now)]])
  await writeServiceUsers(trx, [[undefined, user]], macs)
}
