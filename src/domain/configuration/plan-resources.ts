/** What plans of all kinds of resources have in common. */
import type { Configuration, Mistakes } from './configuration.ts'
import { differencesOf, type FieldDifference } from './description.ts'
import type { ConfiguredState, PlanOptions } from './plan.ts'

export interface ResourceName {
  readonly kind: 'project' | 'service_user' | 'trusted_issuer' | 'rotation_policy'
  /** Of a service user. Empty for others. */
  readonly project: string
  /** The `issuer` of a trusted issuer. Empty for the rotation policy. */
  readonly name: string
}

/** One resource that becomes another. `before` undefined: it is created. `next` null: it is deleted. */
export interface ChangeOf<Kind, Resource> {
  readonly kind: Kind
  readonly name: ResourceName
  readonly id: string
  /** In the configuration. Empty: it is not there. */
  readonly path: string
  readonly before: Resource | undefined
  readonly next: Resource | null
  readonly fields: readonly (FieldDifference & LosingUsers)[]
}

/** How many users that a plan does not name lose what is taken away. Left out: it was not counted. */
export interface LosingUsers {
  readonly otherUsers?: number
}

export interface Planning {
  readonly configuration: Configuration
  readonly state: ConfiguredState
  readonly options: PlanOptions
  readonly mistakes: Mistakes
  readonly takenOver: Pick<ChangeOf<unknown, unknown>, 'name' | 'id'>[]
}

/** How resources of a kind are planned. */
interface Planner<Kind, Wanted, Resource> {
  readonly kind: Kind
  /** Its list in a configuration, and the field there with the name. */
  readonly path: readonly [list: string, name: string]
  readonly configured: readonly Wanted[]
  readonly existing: readonly Resource[]
  readonly nameOf: (one: Wanted | Resource) => { readonly project?: string; readonly name: string }
  readonly idOf: (resource: Resource) => string
  readonly factsOf: (resource: Resource) => Parameters<typeof differencesOf>[0]
  /**
   * What it becomes, and what the difference is to: `before`, or that of a resource without anything. Undefined: that is a mistake.
   */
  readonly plan: (
    wanted: Wanted,
    path: string,
    before: Resource | undefined,
  ) => { readonly start?: Resource | undefined; readonly next: Resource } | undefined
}

export interface PlannedResources<Kind, Resource> {
  readonly changes: readonly ChangeOf<Kind, Resource>[]
  /** Those that exist then, by `keyOf`. */
  readonly after: ReadonlyMap<string, Resource>
}

/** Plans those that the configuration has, and prunes those that it has not. */
export function planResources<Kind extends ResourceName['kind'], Wanted, Resource>(
  { kind, path: [list, field], configured, existing, nameOf, idOf, factsOf, plan }: Planner<Kind, Wanted, Resource>,
  planning: Planning,
): PlannedResources<Kind, Resource> {
  const { mistakes } = planning
  const changes: ChangeOf<Kind, Resource>[] = []
  const before = new Map(existing.map((resource) => [keyOf(nameOf(resource)), resource]))
  const after = new Map(before)
  const named = new Set<string>()
  for (const [index, wanted] of configured.entries()) {
    const path = `${list}[${index}]`
    const name = { kind, project: '', ...nameOf(wanted) }
    const key = keyOf(name)
    const one = before.get(key)
    if (named.has(key)) {
      mistakes.add(`${path}.${field}`, 'configuration_invalid', `${name.name} stands in the configuration already`)
      continue
    }
    named.add(key)
    if (one !== undefined) claim({ name, id: idOf(one) }, path, planning)
    const planned = plan(wanted, path, one)
    if (planned === undefined) continue
    const { start, next } = planned
    const fields = differencesOf(start === undefined ? {} : factsOf(start), factsOf(next))
    // In another order it is the same.
    if (one !== undefined && fields.length === 0) continue
    after.set(key, next)
    changes.push({ kind, name, id: idOf(next), path, before: one, next, fields })
  }
  for (const one of existing) {
    const name = { kind, project: '', ...nameOf(one) }
    if (named.has(keyOf(name)) || !isPruned(idOf(one), planning)) continue
    after.delete(keyOf(name))
    changes.push({ kind, name, id: idOf(one), path: '', before: one, next: null, fields: [] })
  }
  return { changes, after }
}

/** Of names of one kind. Only those of users have a project. */
export function keyOf({ project = '', name }: { readonly project?: string; readonly name: string }): string {
  return project === '' ? name : `${project} ${name}`
}

export function isPruned(id: string, { state, options }: Planning): boolean {
  return options.prune && state.labels.get(id) === options.label
}

/** Takes a resource over if it has no label, or another one and that is wanted. */
function claim(resource: Planning['takenOver'][number], path: string, planning: Planning): void {
  const { state, options, mistakes, takenOver } = planning
  const label = state.labels.get(resource.id)
  if (label === options.label) return
  if (label === undefined || options.takeOver) takenOver.push(resource)
  else
    mistakes.add(
      path,
      'configuration_label_taken',
      `it belongs to the label ${JSON.stringify(label)}: take it over, or leave it to that`,
    )
}
