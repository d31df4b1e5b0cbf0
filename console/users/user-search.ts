/**
 * Finds service users by a part of their name or client id. The API lists users by their creation date only, so the pages are read
 * one after the other.
 */
import type { CallOptions } from '@connectrpc/connect'
import type { ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { serviceUsers } from '../api/clients.ts'
import { pagesOf } from '../api/every-page.ts'

/** What was found. */
export interface FoundUsers {
  readonly users: readonly ServiceUser[]
  /** Whether there are more than are shown. */
  readonly hasMore: boolean
}

/** So many are shown. A longer text finds fewer. */
const SHOWN = 100

/** @param projectId Only users of this project; empty: of all. */
export async function findUsers(text: string, projectId: string, options: CallOptions): Promise<FoundUsers> {
  const wanted = text.trim().toLowerCase()
  const users: ServiceUser[] = []
  const pages = pagesOf(async (page) => {
    const { serviceUsers: items, nextPageToken } = await serviceUsers.listServiceUsers({ projectId, ...page }, options)
    return { items, nextPageToken }
  })
  for await (const page of pages) {
    users.push(...page.filter(({ name, clientId }) => `${name}\n${clientId}`.toLowerCase().includes(wanted)))
    if (users.length > SHOWN) return { users: users.slice(0, SHOWN), hasMore: true }
  }
  return { users, hasMore: false }
}
