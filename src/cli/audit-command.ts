/**
 * `keyturn audit`: who did what, and who was refused; with `--follow`, as it happens (`audit-follow.ts`).
 */
import { create, toJson } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { createClient, type Transport } from '@connectrpc/connect'
import { Command, InvalidArgumentError, Option } from 'commander'
import {
  type AuditEvent,
  AuditEventSchema,
  AuditService,
  FollowedAuditEventSchema,
  ListAuditEventsResponseSchema,
} from '../../gen/iam/audit/v2/audit_service_pb.js'
import { openApi } from './api-client.ts'
import { print } from './api-command.ts'
import { followEvents } from './audit-follow.ts'
import { painter } from './color.ts'
import { parseUser, resolveUser } from './identities/references.ts'
import type { Io } from './io.ts'
import { type RemoteOptions, withRemoteOptions } from './options.ts'
import { formatOf } from './output.ts'
import { itemsOf } from './pages.ts'
import { printableLines } from './printable.ts'
import { formatMoment, formatTable } from './table.ts'
import { sinceOption } from './when.ts'
import { formatYaml } from './yaml.ts'

const DEFAULT_LIMIT = 100

const HEADING = ['TIME', 'OUTCOME', 'ACTION', 'ACTOR', 'ADDRESS', 'RESOURCE']

interface AuditOptions extends RemoteOptions {
  readonly from?: Timestamp
  readonly to?: Timestamp
  readonly actor?: string
  readonly resource?: string
  readonly limit: number
  readonly follow?: boolean
  readonly after?: string
}

/** The command. */
export function auditCommand(io: Io): Command {
  return withRemoteOptions(new Command('audit'))
    .addOption(sinceOption('--from', 'only events at this time or later: 24h ago, or at a time as in RFC 3339'))
    .addOption(sinceOption('--to', 'only events before this time'))
    .option('--actor <actor>', 'only what this user (id, client ID, name or name@project), "system" or "anonymous" did')
    .option(
      '--resource <resource>',
      'only what was done to this, for example users/USER_ID, users/NAME or web_keys/KEY_ID',
    )
    .option('--limit <count>', 'the greatest number of events to print', parseLimit, DEFAULT_LIMIT)
    .option(
      '--follow',
      'print events as they happen, from now on or from --from, in the order of changes, until interrupted',
    )
    .addOption(
      new Option('--after <position>', 'follow on after this position, which --follow has printed').implies({
        follow: true,
      }),
    )
    .action(async (options: AuditOptions) => {
      const { from: fromDate, to: toDate, actor = '', resource = '' } = options
      if (options.follow === true && toDate !== undefined)
        throw new InvalidArgumentError('--follow goes on without an end, so it takes no --to')
      const api = await openApi(io, options)
      const filter = {
        ...(fromDate === undefined ? {} : { fromDate }),
        actor: await userIdIn(actor, api),
        resource: await resourceIn(resource, api),
      }
      if (options.follow === true) return await follow(io, api, { filter, options })
      const found = { ...filter, ...(toDate === undefined ? {} : { toDate }) }
      const { events, more } = await newestEvents(api, found, options.limit)
      const response = create(ListAuditEventsResponseSchema, { events })
      await print({ io, options }, ListAuditEventsResponseSchema, response, () =>
        tableOf(events, painter(io, 'stdout', 'bold')),
      )
      if (more) io.stderr.write('there are older events: raise --limit, or go back with --to\n')
    })
}

/** What events are about. */
interface Filter {
  readonly fromDate?: Timestamp
  readonly toDate?: Timestamp
  readonly actor: string
  readonly resource: string
}

async function follow(
  io: Io,
  api: Transport,
  { filter, options }: { readonly filter: Filter; readonly options: AuditOptions },
): Promise<void> {
  const output = formatOf(options)
  await followEvents(io, createClient(AuditService, api), {
    request: { ...filter, afterPosition: options.after ?? '' },
    format: (followed) => {
      if (output === 'table') return printableLines(row(followed.event ?? create(AuditEventSchema)).join('  '))
      const json = toJson(FollowedAuditEventSchema, followed)
      return printableLines(output === 'yaml' ? `---\n${formatYaml(json)}` : JSON.stringify(json))
    },
    onBegin: () => {
      if (output === 'table') io.stdout.write(`${painter(io, 'stdout', 'bold')(HEADING.join('  '))}\n`)
    },
    onEnd: (position) => {
      if (output === 'table' && position !== '') io.stderr.write(`to go on here: --after ${position}\n`)
    },
  })
}

async function newestEvents(
  api: Transport,
  filter: Filter,
  limit: number,
): Promise<{ events: AuditEvent[]; more: boolean }> {
  const client = createClient(AuditService, api)
  const events: AuditEvent[] = []
  const found = itemsOf(
    // One more than is printed shows whether there are older ones.
    (page) => client.listAuditEvents({ ...filter, ...page, pageSize: Math.min(page.pageSize, limit + 1) }),
    (response) => response.events,
  )
  for await (const event of found) {
    if (events.length === limit) return { events, more: true }
    events.push(event)
  }
  return { events, more: false }
}

/** Actors that are no users. */
const NO_USERS = ['', 'system', 'anonymous']

/** The id of the user that a text names, here also by the name alone. */
async function userIdIn(text: string, api: Transport): Promise<string> {
  return NO_USERS.includes(text) ? text : await resolveUser(api, parseUser(text) ?? { kind: 'name', name: text })
}

/** The resource with the id of its user. It may be part of the user, such as one of its secrets. */
async function resourceIn(text: string, api: Transport): Promise<string> {
  const [, user = '', part = ''] = /^users\/([^/]*)(.*)$/s.exec(text) ?? []
  return user === '' ? text : `users/${await userIdIn(user, api)}${part}`
}

/** With a column of reasons if any event has one. */
function tableOf(events: readonly AuditEvent[], heading: (text: string) => string): string {
  if (events.every(({ reason }) => reason === '')) return formatTable(HEADING, events.map(row), heading)
  return formatTable(
    [...HEADING, 'REASON'],
    events.map((event) => [...row(event), event.reason === '' ? '-' : event.reason]),
    heading,
  )
}

/** Which method it was; the name of the service adds nothing, because its methods name what they change. */
function row({ eventDate, outcome, action, actor, clientAddress, resource, omission }: AuditEvent): string[] {
  const method = action.slice(action.lastIndexOf('/') + 1)
  return [
    eventDate === undefined ? '' : formatMoment(eventDate),
    omission === undefined ? outcome : `${outcome} ${omission.count}`,
    method,
    actor,
    clientAddress === '' ? '-' : clientAddress,
    resource,
  ]
}

function parseLimit(text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Write a whole number, 1 to 9999999.')
}
