import { addPart, createProject, type Project } from '../identities/project.ts'
import type { ProjectConfiguration } from './configuration.ts'
import { differencesOf, type FieldDifference, projectFacts } from './description.ts'
import { type ConfiguredState, isPruned, type PlannedChange, type Planning } from './plan.ts'

export interface PlannedProjects {
  /** Those that exist then, by name. */
  readonly byName: ReadonlyMap<string, Project>
  readonly names: ReadonlyMap<string, string>
  readonly changes: readonly PlannedChange[]
  /** The projects of the configuration by name. What a rule refused of them is not in `byName`, and is a mistake already. */
  readonly wanted: ReadonlyMap<string, ProjectConfiguration>
}

export function planProjects(configured: readonly ProjectConfiguration[], planning: Planning): PlannedProjects {
  const { state, mistakes } = planning
  const existing = new Map(state.projects.map((project) => [project.name, project]))
  const byName = new Map(existing)
  const changes: PlannedChange[] = []
  const named = new Set<string>()
  for (const [index, wanted] of configured.entries()) {
    const path = `projects[${index}]`
    if (named.has(wanted.name)) {
      mistakes.add(
        `${path}.name`,
        'configuration_invalid',
        `the project ${wanted.name} stands in the configuration already`,
      )
      continue
    }
    named.add(wanted.name)
    const change = planProject(wanted, path, existing.get(wanted.name), planning)
    if (change.next !== null) byName.set(wanted.name, change.next)
    if (change.before === undefined || change.fields.length > 0) changes.push(change)
  }
  for (const project of state.projects) {
    if (named.has(project.name) || !isPruned(planning, project.projectId)) continue
    byName.delete(project.name)
    changes.push({
      kind: 'project',
      name: { kind: 'project', name: project.name },
      before: project,
      next: null,
      fields: [],
      otherUsers: state.otherHolders.projects.get(project.projectId) ?? 0,
    })
  }
  assertAudiencesFree(configured, byName, planning)
  const names = new Map([...state.projects, ...byName.values()].map(({ projectId, name }) => [projectId, name]))
  const wanted = new Map(configured.map((project) => [project.name, project]))
  return { byName, names, changes, wanted }
}

function planProject(
  wanted: ProjectConfiguration,
  path: string,
  before: Project | undefined,
  { state, options, mistakes, claim }: Planning,
): Extract<PlannedChange, { kind: 'project' }> {
  const name = { kind: 'project', name: wanted.name } as const
  if (before !== undefined) claim(path, name, before.projectId)
  const start = before ?? createProject(options.newId(), wanted.name, options.moment.date)
  let next: Project = { ...start, rolesClaim: wanted.rolesClaim }
  for (const list of ['roles', 'scopes', 'audiences'] as const) {
    next = { ...next, [list]: start[list].filter((each) => wanted[list].includes(each)) }
    for (const [index, each] of wanted[list].entries()) {
      // What the project has already is not refused for a rule that came later.
      if (next[list].includes(each)) continue
      const add = (project: Project) => addPart(project, { list, name: each }, options.issuer)
      next = mistakes.applied(`${path}.${list}[${index}]`, next, add)
    }
  }
  const facts = projectFacts(before ?? createProject(next.projectId, next.name, next.createdAt))
  const fields = differencesOf(facts, projectFacts(next)).map((field) => withOtherHolders(field, next, state))
  return { kind: 'project', name, before, next, fields }
}

/** Roles and scopes that are taken away are taken away from all users. */
function withOtherHolders(
  difference: FieldDifference,
  { projectId }: Project,
  { otherHolders }: ConfiguredState,
): FieldDifference {
  const { field, before } = difference
  if (before === '' || (field !== 'roles' && field !== 'scopes')) return difference
  return { ...difference, otherUsers: otherHolders[field].get(projectId)?.get(before) ?? 0 }
}

/** An audience belongs to one project. It may move from one to another in one step. */
function assertAudiencesFree(
  configured: readonly ProjectConfiguration[],
  byName: ReadonlyMap<string, Project>,
  { state, mistakes }: Planning,
): void {
  const planned = new Map([...byName.values()].map((project) => [project.projectId, project]))
  const known = new Set(state.projects.map(({ projectId }) => projectId))
  const owners = new Map<string, string>()
  for (const [audience, projectId] of state.audiences)
    if (!known.has(projectId)) owners.set(audience, 'a project that is not in the configuration')
  for (const project of planned.values()) {
    // Those that stay as they are come first, so that the mistake is that of the one that wants more.
    const before = state.projects.find(({ projectId }) => projectId === project.projectId)
    for (const audience of project.audiences)
      if (before?.audiences.includes(audience)) owners.set(audience, `the project ${project.name}`)
  }
  for (const [index, { name, audiences }] of configured.entries()) {
    for (const [place, audience] of audiences.entries()) {
      const owner = owners.get(audience)
      if (owner === undefined) owners.set(audience, `the project ${name}`)
      else if (owner !== `the project ${name}`)
        mistakes.add(`projects[${index}].audiences[${place}]`, 'project_audience_taken', `${owner} has this audience`)
    }
  }
}
