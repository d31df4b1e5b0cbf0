/**
 * The state of an instance as its lists have it, and as it must be by its audit trail. A change and its event are one
 * transaction, so where the two differ, a change was done by halves.
 */
import { WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { type Administration, pagesOf } from '../support/administration.ts'

const PAGE = 1000
const ADDING = /^(Create|Add|Grant|Generate)/
const REMOVING = /^Delete/

/** What there is, by the names of the audit trail; the active web key once more, behind `active `. */
export type State = ReadonlySet<string>

/** Everything that the lists have. */
export async function stateOf({ projects, users, keys }: Administration): Promise<Set<string>> {
  const state = new Set<string>()
  const projectPages = await pagesOf((pageToken) => projects.listProjects({ pageSize: PAGE, pageToken }))
  for (const { projectId } of projectPages.flatMap((page) => page.projects)) {
    state.add(`projects/${projectId}`)
    const { roles } = await projects.listProjectRoles({ projectId, pageSize: PAGE })
    for (const role of roles) state.add(`projects/${projectId}/roles/${role}`)
  }
  const userPages = await pagesOf((pageToken) => users.listServiceUsers({ pageSize: PAGE, pageToken }))
  for (const { userId, projectRoles } of userPages.flatMap((page) => page.serviceUsers)) {
    state.add(`users/${userId}`)
    for (const { projectId, roles } of projectRoles) {
      for (const role of roles) state.add(`users/${userId}/projects/${projectId}/roles/${role}`)
    }
    const { secrets } = await users.listClientSecrets({ userId, pageSize: PAGE })
    for (const { secretId } of secrets) state.add(`users/${userId}/secrets/${secretId}`)
  }
  for (const { keyId, state: keyState } of (await keys.listWebKeys({})).webKeys) {
    state.add(`web_keys/${keyId}`)
    if (keyState === WebKeyState.ACTIVE) state.add(`active web_keys/${keyId}`)
  }
  return state
}

/** The changes that the audit trail has, oldest first, as `METHOD RESOURCE`. */
export async function auditTrailOf({ audit }: Administration): Promise<string[]> {
  const pages = await pagesOf((pageToken) => audit.listAuditEvents({ pageSize: PAGE, pageToken }))
  return pages
    .flatMap((page) => page.events)
    .toReversed()
    .map(({ action, resource }) => `${action.split('/').at(-1)} ${resource}`)
}

/** The state after more changes. */
export function stateAfter(before: State, changes: readonly string[]): Set<string> {
  const state = new Set(before)
  for (const change of changes) {
    const [method = '', resource = ''] = change.split(' ')
    if (ADDING.test(method)) state.add(resource)
    if (REMOVING.test(method)) state.delete(resource)
    if (method !== 'ActivateWebKey') continue
    for (const name of state) if (name.startsWith('active ')) state.delete(name)
    state.add(`active ${resource}`)
  }
  return state
}
