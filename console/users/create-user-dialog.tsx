/**
 * Creates a service user, and goes to it.
 */
import { useState } from 'preact/hooks'
import type { Project } from '../../gen/iam/project/v2/project_pb.js'
import { serviceUsers } from '../api/clients.ts'
import { goTo } from '../navigation/route.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { SelectField, TextField } from '../parts/field.tsx'

interface CreateUserDialogProps {
  readonly projects: readonly Project[]
  /** The project that is chosen at first; empty: the first one. */
  readonly projectId: string
  readonly onClose: () => void
}

export function CreateUserDialog({ projects, projectId, onClose }: CreateUserDialogProps) {
  const [name, setName] = useState('')
  const [project, setProject] = useState(
    (projects.find((one) => one.projectId === projectId) ?? projects[0])?.projectId ?? '',
  )
  const [isBound, setIsBound] = useState(false)
  const change = async () => {
    const { serviceUser } = await serviceUsers.createServiceUser({
      projectId: project,
      name,
      clientCredentialsEnabled: true,
      boundTokensRequired: isBound,
    })
    if (serviceUser !== undefined) goTo(['users', serviceUser.userId])
  }
  return (
    <ConfirmDialog
      title="Create a service user"
      verb="Create user"
      isIncomplete={name === '' || project === ''}
      onClose={onClose}
      change={change}
    >
      <p>The account of a machine. It has no roles, and no secret until you generate one.</p>
      <TextField label="Name" required maxLength={200} value={name} onChange={setName} />
      <SelectField
        label="Project"
        hint="It cannot be changed later. Its name is a part of the client ID."
        value={project}
        choices={projects.map((one) => [one.projectId, one.name] as const)}
        onChange={setProject}
      />
      <label class="check">
        <input type="checkbox" checked={isBound} onChange={({ currentTarget }) => setIsBound(currentTarget.checked)} />
        Only bound tokens: to a key (DPoP) or to a certificate
      </label>
    </ConfirmDialog>
  )
}
