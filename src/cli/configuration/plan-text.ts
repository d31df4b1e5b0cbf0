/**
 * A plan as a person reads it: `+` is created, `~` changed and `-` deleted, of resources and of what is in them.
 */

import type { JsonObject } from '@bufbuild/protobuf'
import { toJson } from '@bufbuild/protobuf'
import type { ApplyConfigurationResponse } from '../../../gen/iam/config/v2/config_service_pb.js'
import {
  ChangeAction,
  type FieldDifference,
  type Plan,
  type PlannedChange,
  PlanSchema,
  ResourceKind,
  type ResourceName,
} from '../../../gen/iam/config/v2/plan_pb.js'
import { printable } from '../../domain/printable.ts'
import { type Paint, painter } from '../color.ts'
import type { Io } from '../io.ts'
import { countsOf, isDifferent, type Planned } from './planned.ts'

/** How the signs are painted. */
interface Colors {
  readonly added: Paint
  readonly changed: Paint
  readonly removed: Paint
}

/** The text, without a line break at its end. */
export function formatPlan(
  { plan, secrets }: Pick<Planned, 'plan' | 'secrets'>,
  label: string,
  io: Pick<Io, 'env' | 'terminals'>,
): string {
  const colors = {
    added: painter(io, 'stdout', 'green'),
    changed: painter(io, 'stdout', 'yellow'),
    removed: painter(io, 'stdout', 'red'),
  }
  return [
    ...plan.changes.flatMap((change) => changeLines(change, colors)),
    ...ownedLines(plan, label),
    ...secrets.due.map(
      ({ request }) =>
        `${colors.added('+')} client secret of ${printable(`${request.name}@${request.project}, into ${request.into}`)}`,
    ),
    summaryOf({ plan, secrets }, label),
  ].join('\n')
}

/** The same for programs. */
export function planJson({ plan, secrets }: Pick<Planned, 'plan' | 'secrets'>): JsonObject {
  const due = secrets.due.map(({ request: { project, name, into } }) => ({ project, name, into }))
  return { ...(toJson(PlanSchema, plan) as JsonObject), ...(due.length === 0 ? {} : { secrets: due }) }
}

/** The name of a resource in words. */
function nameOf({ kind, project, name }: ResourceName | undefined = { kind: 0 } as ResourceName): string {
  switch (kind) {
    case ResourceKind.PROJECT:
      return `project ${printable(name)}`
    case ResourceKind.SERVICE_USER:
      return `service user ${printable(name)}@${project}`
    case ResourceKind.TRUSTED_ISSUER:
      return `trusted issuer ${printable(name)}`
    case ResourceKind.ROTATION_POLICY:
      return 'rotation policy'
    default:
      return `${printable(name)} (of a kind that this version of Keyturn does not know)`
  }
}

function changeLines({ action, resource, fields, otherUsers }: PlannedChange, colors: Colors): string[] {
  const lost = resource?.kind === ResourceKind.PROJECT ? 'roles in it' : 'federated identities of it'
  return [
    `${signOf(action, colors)} ${nameOf(resource)}${loss(otherUsers, lost)}`,
    ...fields.map((field) => `    ${fieldLine(field, colors)}`),
  ]
}

function signOf(action: ChangeAction, { added, changed, removed }: Colors): string {
  if (action === ChangeAction.CREATE) return added('+')
  return action === ChangeAction.DELETE ? removed('-') : changed('~')
}

/** What a plan takes away from users that it does not name. */
function loss(users: number, what: string): string {
  if (users === 0) return ''
  return ` (${users === 1 ? '1 other service user loses' : `${users} other service users lose`} ${what})`
}

function fieldLine(difference: FieldDifference, { added, changed, removed }: Colors): string {
  const [field, before, after] = [difference.field, difference.before, difference.after].map(printable)
  if (before === '') return `${added('+')} ${field}: ${after}`
  return after === ''
    ? `${removed('-')} ${field}: ${before}${loss(difference.otherUsers, 'it')}`
    : `${changed('~')} ${field}: ${before} -> ${after}`
}

/** Resources that are as the files say, and only get the label. */
function onlyLabelled({ changes, takenOver }: Plan): string[] {
  const changed = new Set(changes.map(({ resource }) => nameOf(resource)))
  return takenOver.map(nameOf).filter((name) => !changed.has(name))
}

function ownedLines(plan: Plan, label: string): string[] {
  return onlyLabelled(plan).map((name) => `  ${name} gets the label ${label}, and is not changed`)
}

function summaryOf(planned: Pick<Planned, 'plan' | 'secrets'>, label: string): string {
  const { plan, secrets } = planned
  const version = `(version ${plan.version} of the instance)`
  const labelled = onlyLabelled(plan).length
  const gets = labelled === 1 ? `gets the label ${label}` : `get the label ${label}`
  if (!isDifferent(planned)) {
    return labelled === 0
      ? `no difference ${version}`
      : `no difference, and ${labelled} ${resources(labelled)} ${gets} ${version}`
  }
  const { created, changed, deleted } = countsOf(plan)
  const counts = [`${created} to create`, `${changed} to change`, `${deleted} to delete`]
  if (secrets.due.length > 0) counts.push(`client secrets to hand over: ${secrets.due.length}`)
  if (labelled > 0) counts.push(`and ${labelled} other ${resources(labelled)} ${gets}`)
  return `${counts.join(', ')} ${version}`
}

/** What an apply has done, in one line. */
export function formatResult({ plan, version }: ApplyConfigurationResponse, label: string): string {
  const labelled = plan === undefined ? 0 : onlyLabelled(plan).length
  const got = `got the label ${label}`
  if (plan === undefined || plan.changes.length === 0) {
    const what =
      labelled === 0 ? 'nothing was changed' : `${labelled} ${resources(labelled)} ${got}, and none was changed`
    return `applied: ${what} (version ${version})`
  }
  const { created, changed, deleted } = countsOf(plan)
  const counts = [`${created} created`, `${changed} changed`, `${deleted} deleted`]
  if (labelled > 0) counts.push(`and ${labelled} other ${resources(labelled)} ${got}`)
  return `applied: ${counts.join(', ')} (version ${version})`
}

function resources(count: number): string {
  return count === 1 ? 'resource' : 'resources'
}
