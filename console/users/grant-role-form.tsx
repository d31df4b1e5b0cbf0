/**
 * Grants a role of a project: the user's own one, or another.
 */
import { useState } from 'preact/hooks'
import type { Project } from '../../gen/iam/project/v2/project_pb.js'
import type { ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { projects as projectService, serviceUsers } from '../api/clients.ts'
import { useLoaded } from '../live/loaded.ts'
import { useAction } from '../parts/action.ts'
import { Field } from '../parts/field.tsx'
import { FailureNotice } from '../parts/notice.tsx'

const PAGE = 1000

interface GrantRoleFormProps {
  readonly user: ServiceUser
  readonly projects: readonly Project[]
}

export function GrantRoleForm({ user, projects }: GrantRoleFormProps) {
  const { userId } = user
  const [projectId, setProjectId] = useState(user.projectId)
  const [role, setRole] = useState('')
  const loaded = useLoaded(`roles ${projectId}`, (options) =>
    projectService.listProjectRoles({ projectId, pageSize: PAGE }, options),
  )
  const granted = user.projectRoles.find((grant) => grant.projectId === projectId)?.roles ?? []
  const choices = loaded.value?.roles.filter((candidate) => !granted.includes(candidate)) ?? []
  const action = useAction(async () => {
    await serviceUsers.grantProjectRole({ userId, projectId, role })
    setRole('')
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void action.run()
      }}
    >
      <div class="inline-form">
        <Field label="Project">
          {(id) => (
            <select
              id={id}
              value={projectId}
              onChange={({ currentTarget }) => {
                setProjectId(currentTarget.value)
                setRole('')
              }}
            >
              {projects.map(({ projectId: value, name }) => (
                <option key={value} value={value}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Role">
          {(id) => (
            <select id={id} value={role} onChange={({ currentTarget }) => setRole(currentTarget.value)}>
              <option value="">{choices.length === 0 ? 'No other role' : 'Choose…'}</option>
              {choices.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <button type="submit" class="button" disabled={role === '' || action.isRunning}>
          Add
        </button>
      </div>
      <FailureNotice failure={action.failure} />
    </form>
  )
}
