/**
 * Removes a role or a custom scope of a project, which takes it away from all users.
 */
import { projects } from '../api/clients.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'

interface RemoveRoleOrScopeProps {
  readonly projectId: string
  readonly kind: 'role' | 'scope'
  readonly name: string
  readonly onClose: () => void
}

export function RemoveRoleOrScope({ projectId, kind, name, onClose }: RemoveRoleOrScopeProps) {
  const change = async () => {
    if (kind === 'role') await projects.removeProjectRole({ projectId, role: name })
    else await projects.removeProjectScope({ projectId, scope: name })
  }
  return (
    <ConfirmDialog title={`Remove the ${kind} ${name}?`} verb="Remove" isDangerous onClose={onClose} change={change}>
      <p>
        It is taken away from all users.{' '}
        {kind === 'role' ? 'New tokens do not have it.' : 'Token requests with it are refused.'} Tokens that have it
        keep it until they expire.
      </p>
    </ConfirmDialog>
  )
}
