/**
 * A plan as a person reads it: `+` is created, `~` changed and `-` deleted, of resources and of what is in them.
 */
import { type JsonObject, toJson } from '@bufbuild/protobuf'
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
import type { Io } from '../io.ts'
import { painter } from '../output.ts'
import { userOf } from './client-secrets.ts'
import type { Planned } from './plan-command.ts'

/** The signs, painted. */
type Signs = Readonly<Record<'added' | 'changed' | 'removed', string>>

/** The text, without a line break at its end. */
export function formatPlan(
  { plan, secrets }: Pick<Planned, 'plan' | 'secrets'>,
  label: string,
  io: Pick<Io, 'env' | 'terminals'>,
): string {
  const signs = {
    added: painter(io, 'stdout', 'green')('+'),
    changed: painter(io, 'stdout', 'yellow')('~'),
    removed: painter(io, 'stdout', 'red')('-'),
  }
  const labelled = onlyLabelled(plan)
  const counts = tally(plan, ['to create', 'to change', 'to delete'])
  if (secrets.due.length > 0) counts.push(`client secrets to hand over: ${secrets.due.length}`)
  const isSame = plan.changes.length === 0 && secrets.due.length === 0
  if (labelled.length > 0) {
    const gets = labelled.length === 1 ? 'gets' : 'get'
    counts.push(`and ${resources(labelled, isSame)} ${gets} the label ${label}`)
  }
  const summary = isSame ? ['no difference', ...counts.slice(3)] : counts
  return [
    ...plan.changes.flatMap((change) => changeLines(change, signs)),
    ...labelled.map((name) => `  ${name} gets the label ${label}, and is not changed`),
    ...secrets.due.map(
      (request) => `${signs.added} client secret of ${printable(`${userOf(request)}, into ${request.into}`)}`,
    ),
    `${summary.join(', ')} (version ${plan.version} of the instance)`,
  ].join('\n')
}

/** The same for programs. */
export function planJson({ plan, secrets }: Pick<Planned, 'plan' | 'secrets'>): JsonObject {
  const due = secrets.due.map(({ project, name, into }) => ({ project, name, into }))
  return { ...(toJson(PlanSchema, plan) as JsonObject), ...(due.length === 0 ? {} : { secrets: due }) }
}

/** What an apply has done, in one line. */
export function formatResult({ plan, version }: ApplyConfigurationResponse, label: string): string {
  const labelled = plan === undefined ? [] : onlyLabelled(plan)
  const isSame = plan === undefined || plan.changes.length === 0
  const got = labelled.length === 0 ? [] : [`${resources(labelled, isSame)} got the label ${label}`]
  const done = isSame
    ? (got.map((text) => `${text}, and none was changed`)[0] ?? 'nothing was changed')
    : [...tally(plan, ['created', 'changed', 'deleted']), ...got.map((text) => `and ${text}`)].join(', ')
  return `applied: ${done} (version ${version})`
}

/** How many resources are created, changed and deleted. */
function tally({ changes }: Plan, [created, changed, deleted]: readonly [string, string, string]): string[] {
  const count = (wanted: ChangeAction) => changes.filter(({ action }) => action === wanted).length
  return [
    `${count(ChangeAction.CREATE)} ${created}`,
    `${count(ChangeAction.CHANGE)} ${changed}`,
    `${count(ChangeAction.DELETE)} ${deleted}`,
  ]
}

/** Resources that are as the files say, and only get the label. */
function onlyLabelled({ changes, takenOver }: Plan): string[] {
  const changed = new Set(changes.map(({ resource }) => nameOf(resource)))
  return takenOver.map(nameOf).filter((name) => !changed.has(name))
}

function resources({ length }: readonly string[], isAll: boolean): string {
  return `${length}${isAll ? '' : ' other'} ${length === 1 ? 'resource' : 'resources'}`
}

/** The name of a resource in words. */
function nameOf(resource: ResourceName | undefined): string {
  const { kind, project = '', name = '' } = resource ?? {}
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

function changeLines({ action, resource, fields, otherUsers }: PlannedChange, signs: Signs): string[] {
  const lost = resource?.kind === ResourceKind.PROJECT ? 'roles in it' : 'federated identities of it'
  const other = action === ChangeAction.DELETE ? signs.removed : signs.changed
  const sign = action === ChangeAction.CREATE ? signs.added : other
  return [
    `${sign} ${nameOf(resource)}${loss(otherUsers, lost)}`,
    ...fields.map((field) => `    ${fieldLine(field, signs)}`),
  ]
}

/** What a plan takes away from users that it does not name. */
function loss(users: number, what: string): string {
  if (users === 0) return ''
  return ` (${users === 1 ? '1 other service user loses' : `${users} other service users lose`} ${what})`
}

function fieldLine(difference: FieldDifference, { added, changed, removed }: Signs): string {
  const [field, before, after] = [difference.field, difference.before, difference.after].map(printable)
  if (before === '') return `${added} ${field}: ${after}`
  return after === ''
    ? `${removed} ${field}: ${before}${loss(difference.otherUsers, 'it')}`
    : `${changed} ${field}: ${before} -> ${after}`
}
