/** The client ID of a service user, `<user_id>@<project_name>` (Spec §1). */
import { isUuid } from '../identifiers.ts'

export interface ClientId {
  readonly userId: string
  readonly projectName: string
}

const PROJECT_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/

/** The halves of a client ID, or undefined for a text that no service user can have. */
export function splitClientId(text: string): ClientId | undefined {
  const at = text.indexOf('@')
  const userId = text.slice(0, at)
  const projectName = text.slice(at + 1)
  return at > 0 && isUuid(userId) && isProjectName(projectName) ? { userId, projectName } : undefined
}

export function formatClientId({ userId, projectName }: ClientId): string {
  return `${userId}@${projectName}`
}

/** Whether a project may have this name: 1 to 63 of `a-z`, `0-9` and `-`, not starting with `-`. */
function isProjectName(text: string): boolean {
  return PROJECT_NAME.test(text)
}
