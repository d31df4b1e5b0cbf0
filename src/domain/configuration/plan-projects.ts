import { addPart, createProject, type Project } from '../identities/project.ts'
import { projectFacts } from './description.ts'
import { type PlannedResources, type Planning, planResources } from './plan-resources.ts'

export function planProjects(planning: Planning): PlannedResources<'project', Project> {
  const { configuration, state, options, mistakes } = planning
  const planned = planResources<'project', (typeof configuration.projects)[number], Project>(
    {
      kind: 'project',
      path: ['projects', 'name'],
      configured: configuration.projects,
      existing: state.projects,
      nameOf: ({ name }) => ({ name }),
      idOf: ({ projectId }) => projectId,
      factsOf: projectFacts,
      plan: (wanted, path, before) => {
        const start = before ?? createProject(options.newId(), wanted.name, options.moment.date)
        let next: Project = { ...start, rolesClaim: wanted.rolesClaim }
        for (const list of ['roles', 'scopes', 'audiences'] as const) {
          next = { ...next, [list]: start[list].filter((each) => wanted[list].includes(each)) }
          for (const [index, name] of wanted[list].entries()) {
            // What the project has already is not refused for a rule that came later.
            if (next[list].includes(name)) continue
            const added = mistakes.checked(`${path}.${list}[${index}]`, () =>
              addPart(next, { list, name }, options.issuer),
            )
            next = added ?? next
          }
        }
        return { start, next }
      },
    },
    planning,
  )
  assertAudiencesFree(planned.after, planning)
  return planned
}

/** An audience belongs to one project. It may move from one to another in one step. */
function assertAudiencesFree(after: ReadonlyMap<string, Project>, { configuration, state, mistakes }: Planning): void {
  const had = new Map(state.projects.map(({ name, audiences }) => [name, audiences]))
  const owners = new Map<string, string>()
  // Those that stay as they are come first, so that the mistake is that of the one that wants more.
  for (const { name, audiences } of after.values())
    for (const audience of audiences) if (had.get(name)?.includes(audience)) owners.set(audience, name)
  for (const [index, { name, audiences }] of configuration.projects.entries()) {
    for (const [place, audience] of audiences.entries()) {
      const owner = owners.get(audience) ?? name
      owners.set(audience, owner)
      if (owner === name) continue
      const message = `the project ${owner} has this audience`
      mistakes.add(`projects[${index}].audiences[${place}]`, 'project_audience_taken', message)
    }
  }
}
