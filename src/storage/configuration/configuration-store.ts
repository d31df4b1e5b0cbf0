/** The `ConfigurationStore` on a database. The number of statements grows with chunks of resources, not with resources. */
import { sql, type Transaction } from 'kysely'
import { type ChangedUsers, changedByIssuers } from '../../domain/changes.ts'
import type { ConfigurationPlan, ConfiguredState } from '../../domain/configuration/plan.ts'
import type { TrustedIssuer } from '../../domain/federation/trusted-issuer.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import type { ConfigurationStore } from '../../domain/ports/configuration.ts'
import { changeInstance } from '../change/instance-change.ts'
import { readChangeMoment } from '../change/instance-row.ts'
import { writeTrustedIssuers } from '../federation/federation-store.ts'
import { type ProjectChange, writeProjects } from '../identities/project-row.ts'
import { type ServiceUserChange, writeServiceUsers } from '../identities/service-user-changes.ts'
import { readRotation, writeRotation } from '../keys/rotation-row.ts'
import { type Database, readSnapshot } from '../postgres/database.ts'
import type { Tables } from '../schema/tables.ts'
import { readConfiguredState, readSelectedState, writeLabels } from './configured-state.ts'

/** How long the process may compute between two statements, and how long the lock may be held. */
const IDLE_MILLIS = 5_000
const TRANSACTION_MILLIS = 15_000

export function createConfigurationStore(database: Database, macs: PublicKeyMacs): ConfigurationStore {
  return {
    read: (subject) =>
      readSnapshot(database.db, async (trx) => ({
        state: await readConfiguredState({ db: trx, macs }, subject),
        moment: await readChangeMoment(trx),
      })),

    select: (selection) => readSnapshot(database.db, (trx) => readSelectedState({ db: trx, macs }, selection)),

    apply: async (entry, { subject, label }, decide) => {
      const { decision, after } = await changeInstance(database, entry, {
        read: async (trx) => {
          await allowMoreTime(trx)
          return await readConfiguredState({ db: trx, macs }, subject)
        },
        decide: (before, moment) => {
          const { plan, resources } = decide(before, moment)
          const events = resources.map((resource) => ({ resource }))
          return { plan, events, changedUsers: changedByPlan(before.trustedIssuers, plan) }
        },
        write: (trx, before, { plan }) => writePlan({ trx, macs, label }, before, plan),
      })
      return { plan: decision.plan, version: after.version }
    },
  }
}

/** Lets the process compute for longer between two statements than other changes may: it plans for thousands of users. */
export async function allowPlanning(trx: Transaction<Tables>): Promise<void> {
  await sql`set local idle_in_transaction_session_timeout = ${sql.lit(IDLE_MILLIS)}`.execute(trx)
}

/**
 * Thousands of users take longer than other changes. `transaction_timeout`, which PostgreSQL has from version 17 on, starts anew only if it was
 * off.
 */
async function allowMoreTime(trx: Transaction<Tables>): Promise<void> {
  await allowPlanning(trx)
  await sql`
    select set_config('transaction_timeout', '0', true), set_config('transaction_timeout', ${String(TRANSACTION_MILLIS)}, true)
    where current_setting('server_version_num')::int >= 170000`.execute(trx)
}

/** How the changes of a plan are written. */
interface Writing {
  readonly trx: Transaction<Tables>
  readonly macs: PublicKeyMacs
  readonly label: string
}

/** Writes a plan, and returns whether it changes anything. Users are deleted before their project, and granted what exists by then. */
export async function writePlan(
  { trx, macs, label }: Writing,
  before: ConfiguredState,
  plan: ConfigurationPlan,
): Promise<boolean> {
  const { changes, trustedIssuers, takenOver } = plan
  const users = changes.flatMap((change): ServiceUserChange[] =>
    change.kind === 'service_user' ? [[change.before, change.next]] : [],
  )
  const projects = changes.flatMap((change): ProjectChange[] =>
    change.kind === 'project' ? [[change.before, change.next]] : [],
  )
  await writeServiceUsers(
    trx,
    users.filter(([, next]) => next === null),
    macs,
  )
  await writeProjects(trx, projects)
  await writeTrustedIssuers(trx, [before.trustedIssuers, trustedIssuers], macs)
  await writeServiceUsers(
    trx,
    users.filter(([, next]) => next !== null),
    macs,
  )
  for (const change of changes) {
    if (change.kind === 'rotation_policy')
      await writeRotation(trx, { ...(await readRotation(trx)), policy: change.next })
  }
  const created = changes.flatMap((change) => {
    if (change.kind === 'rotation_policy' || change.before !== undefined || change.next === null) return []
    return [idOf(change.next)]
  })
  await writeLabels(trx, [...created, ...takenOver.map(({ id }) => id)], label)
  // A label is part of what a plan is made on: it says what is pruned.
  return changes.length > 0 || takenOver.length > 0
}

function changedByPlan(before: readonly TrustedIssuer[], { changes, trustedIssuers }: ConfigurationPlan): ChangedUsers {
  const changed = changedByIssuers(before, trustedIssuers)
  if (changed.kind === 'any') return changed
  const idsOf = (kind: 'service_user' | 'project') =>
    changes.flatMap((change) => {
      if (change.kind !== kind) return []
      const resource = change.next ?? change.before
      return resource === undefined ? [] : [idOf(resource)]
    })
  return { kind: 'some', userIds: idsOf('service_user'), projectIds: idsOf('project') }
}

function idOf(
  resource: { readonly userId: string } | { readonly issuerId: string } | { readonly projectId: string },
): string {
  if ('userId' in resource) return resource.userId
  return 'issuerId' in resource ? resource.issuerId : resource.projectId
}
