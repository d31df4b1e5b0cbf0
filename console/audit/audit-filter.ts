/**
 * The filters of the audit trail, which are in the address.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type CallOptions, Code, ConnectError } from '@connectrpc/connect'
import type { ListAuditEventsRequestSchema } from '../../gen/iam/audit/v2/audit_service_pb.js'
import { everyItemOf, serviceUsers } from '../api/clients.ts'

/** The filters. All texts; empty: none. */
export interface AuditFilter {
  /** As a field for local time writes it, for example `2026-11-21T08:30`. */
  readonly from: string
  readonly to: string
  readonly actor: string
  readonly resource: string
}

/** Reads the filters of an address. */
export function filterOf(query: URLSearchParams): AuditFilter {
  const read = (name: string) => query.get(name) ?? ''
  return { from: read('from'), to: read('to'), actor: read('actor'), resource: read('resource') }
}

/** The filters in a request, with the ids of users that they name. @throws {ConnectError} `not_found` if there is no such user. */
export async function requestOf(
  { from, to, actor, resource }: AuditFilter,
  options: CallOptions,
): Promise<MessageInitShape<typeof ListAuditEventsRequestSchema>> {
  const [fromDate, toDate] = [dateOf(from), dateOf(to)]
  const [, user = '', part = ''] = /^users\/([^/]+)(.*)$/.exec(resource.trim()) ?? []
  return {
    actor: await userIdIn(actor.trim(), options),
    resource: user === '' ? resource.trim() : `users/${await userIdIn(user, options)}${part}`,
    ...(fromDate === undefined ? {} : { fromDate: timestampFromDate(fromDate) }),
    ...(toDate === undefined ? {} : { toDate: timestampFromDate(toDate) }),
  }
}

/** Actors that are no users. */
const NO_USERS = ['', 'system', 'anonymous']

/** The id in a user id or client ID, or of the user with a name or `name@project`. */
async function userIdIn(text: string, options: CallOptions): Promise<string> {
  const [, id] = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:@|$)/i.exec(text) ?? []
  if (id !== undefined || NO_USERS.includes(text)) return id?.toLowerCase() ?? text
  const [, search = text, project = ''] = /^(.+)@([^@]+)$/.exec(text) ?? []
  const all = await everyItemOf('serviceUsers', (page) => serviceUsers.listServiceUsers({ search, ...page }, options))
  const named = all.filter(
    ({ name, clientId }) => name === text || (name === search && clientId.endsWith(`@${project}`)),
  )
  const [user] = named
  if (user !== undefined && named.length === 1) return user.userId
  throw new ConnectError(
    user === undefined
      ? `there is no service user "${text}"`
      : `${named.length} service users have the name "${text}": use the client ID, ${named.map(({ clientId }) => clientId).join(' or ')}`,
    Code.NotFound,
  )
}

function dateOf(text: string): Date | undefined {
  const date = new Date(text)
  return text === '' || Number.isNaN(date.getTime()) ? undefined : date
}
