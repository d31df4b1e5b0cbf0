/** The `ConfigurationStore` on a database. The number of statements grows with chunks of resources, not with resources. */
import { sql, type Transaction } from 'kysely'
import { type ChangedUsers, changedByIssuers } from '../../domain/changes.ts'
import type { ConfigurationPlan, ConfiguredState } from '../../domain/configuration/plan.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import type { ConfigurationStore } from '../../domain/ports/configuration.ts'
import { changeInstance } from '../change/instance-change.ts'
import { readChangeMoment } from '../change/instance-row.ts'
import { writeTrustedIssuers } from '../federation/federation-store.ts'
import { writeProjects } from '../identities/project-row.ts'
import { type ServiceUserChange, writeServiceUsers } from '../identities/service-user-changes.ts'
import { readRotation, writeRotation } from '../keys/rotation-row.ts'
import { type Database, readSnapshot } from '../postgres/database.ts'
import type { Tables } from '../schema/tables.ts'
import { readConfiguredState, writeLabels } from './configured-state.ts'
import { withLosingUsers } from './losing-users.ts'

/** How long the process may compute between two statements, and how long the lock may be held. */
const IDLE_MILLIS = 5_000
const TRANSACTION_MILLIS = 15_000

export function createConfigurationStore(database: Database, macs: PublicKeyMacs): ConfigurationStore {
  const read: ConfigurationStore['read'] = (subject) =>
    readSnapshot(database.db, async (trx) => ({
      state: await readConfiguredState({ db: trx, macs }, subject),
      moment: await readChangeMoment(trx),
    }))
  return {
    read,

    plan: async ({ subject, decide }) => {
      const { state, moment } = await read(subject)
      // Outside of a transaction: it may take seconds.
      const plan = decide(state, moment)
      return await readSnapshot(database.db, (trx) => withLosingUsers(trx, state, plan))
    },

    apply: async (entry, { subject, label, decide }) => {
      let counted: ConfigurationPlan | undefined
      const { decision, after } = await changeInstance(database, entry, {
        read: async (trx) => {
          await allowMoreTime(trx)
          return await readConfiguredState({ db: trx, macs }, subject)
        },
        decide: (before, moment) => {
          const plan = decide(before, moment)
          const events = plan.resources.map((resource) => ({ resource }))
          return { plan, events, changedUsers: changedByPlan(before, plan) }
        },
        write: async (trx, before, { plan }) => {
          counted = await withLosingUsers(trx, before, plan)
          return await writePlan({ trx, macs, label }, before, plan)
        },
      })
      return { plan: counted ?? decision.plan, version: after.version }
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
  { changes, trustedIssuers, takenOver }: ConfigurationPlan,
): Promise<boolean> {
  const users = changes.filter((change) => change.kind === 'service_user')
  const writeUsers = async (which: readonly (typeof users)[number][]) =>
    writeServiceUsers(
      trx,
      which.map((change): ServiceUserChange => [change.before, change.next]),
      macs,
    )
  const projects = changes.filter((change) => change.kind === 'project')
  await writeUsers(users.filter(({ next }) => next === null))
  await writeProjects(
    trx,
    projects.map((change) => [change.before, change.next]),
  )
  await writeTrustedIssuers(trx, [before.trustedIssuers, trustedIssuers], macs)
  await writeUsers(users.filter(({ next }) => next !== null))
  for (const change of changes) {
    if (change.kind === 'rotation_policy' && change.next !== null)
      await writeRotation(trx, { ...(await readRotation(trx)), policy: change.next })
  }
  const created = changes.filter((change) => change.before === undefined)
  await writeLabels(
    trx,
    [...created, ...takenOver].map(({ id }) => id),
    label,
  )
  // A label is part of what a plan is made on: it says what is pruned.
  return changes.length > 0 || takenOver.length > 0
}

function changedByPlan(before: ConfiguredState, { changes, trustedIssuers }: ConfigurationPlan): ChangedUsers {
  const changed = changedByIssuers(before.trustedIssuers, trustedIssuers)
  const idsOf = (kind: 'service_user' | 'project') =>
    changes.filter((change) => change.kind === kind).map(({ id }) => id)
  return changed.kind === 'any'
    ? changed
    : { kind: 'some', userIds: idsOf('service_user'), projectIds: idsOf('project') }
}
