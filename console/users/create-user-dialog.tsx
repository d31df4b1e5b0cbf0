/**
 * Creates a service user, and goes to it.
 */
import type { Project } from '../../gen/iam/project/v2/project_pb.js'
import { serviceUsers } from '../api/clients.ts'
import { goTo } from '../navigation/route.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { useDraft } from '../parts/draft.ts'
import { CheckField, SelectField, TextField } from '../parts/fields.tsx'

interface CreateUserDialogProps {
  readonly projects: readonly Project[]
  /** The project that is chosen at first; empty: the first one. */
  readonly projectId: string
}

export function CreateUserDialog({ projects, projectId }: CreateUserDialogProps) {
  const chosen = projects.find((one) => one.projectId === projectId) ?? projects[0]
  const { values, field } = useDraft({ name: '', projectId: chosen?.projectId ?? '', boundTokensRequired: false })
  const change = async () => {
    const { serviceUser } = await serviceUsers.createServiceUser({ ...values, clientCredentialsEnabled: true })
    if (serviceUser !== undefined) goTo(['users', serviceUser.userId])
  }
  return (
    <ConfirmDialog
      title="Create a service user"
      verb="Create user"
      isIncomplete={values.name === '' || values.projectId === ''}
      change={change}
    >
      <p>The account of a machine. It has no roles, and no secret until you generate one.</p>
      <TextField label="Name" required maxLength={200} {...field('name')} />
      <SelectField
        label="Project"
        hint="It cannot be changed later. Its name is a part of the client ID."
        choices={projects.map((one) => [one.projectId, one.name] as const)}
        {...field('projectId')}
      />
      <CheckField {...field('boundTokensRequired')}>Only bound tokens: to a key (DPoP) or to a certificate</CheckField>
    </ConfirmDialog>
  )
}
