/**
 * `keyturn audit`: who did what, and who was refused; with `--follow`, as it happens (`audit-follow.ts`).
 */
import { create, toJson } from '@bufbuild/protobuf'
import {
  type AuditEvent,
  AuditEventSchema,
  AuditService,
  FollowedAuditEventSchema,
} from '../../gen/iam/audit/v2/audit_service_pb.js'
import type { Api } from './api.ts'
import { followEvents } from './audit-follow.ts'
import { command } from './commands.ts'
import { parseUser, resolveUser } from './identities/references.ts'
import { flag, option, UsageError, wholeNumber } from './options.ts'
import { formatOf, painter, printableLines, printResult, serialize, type Table } from './output.ts'
import { formatMoment, sinceOption } from './times.ts'

const HEADING = ['TIME', 'OUTCOME', 'ACTION', 'ACTOR', 'ADDRESS', 'RESOURCE']

/** Actors that are no users. */
const NO_USERS = ['', 'system', 'anonymous']

const { listAuditEvents } = AuditService.method

/** The command. */
export const auditCommand = command('audit', {
  description: '',
  options: {
    from: sinceOption('--from', 'only events at this time or later: 24h ago, or at a time as in RFC 3339'),
    to: sinceOption('--to', 'only events before this time'),
    actor: option<string>(
      '--actor <actor>',
      'only what this user (id, client ID, name or name@project), "system" or "anonymous" did',
    ),
    resource: option(
      '--resource <resource>',
      'only what was done to this, for example users/USER_ID, users/NAME or web_keys/KEY_ID',
    ),
    limit: option<number>('--limit <count>', 'the greatest number of events to print')
      .argParser(wholeNumber(1, 9_999_999))
      .default(100),
    follow: flag(
      '--follow',
      'print events as they happen, from now on or from --from, in the order of changes, until interrupted',
    ),
    after: option('--after <position>', 'follow on after this position, which --follow has printed').implies({
      follow: true,
    }),
  },
  check({ follow, to }) {
    if (follow === true && to !== undefined)
      throw new UsageError('--follow goes on without an end, so it takes no --to')
  },
  async run(_, { io, api, options }) {
    const { from, to, actor = '', resource = '', limit, follow, after = '' } = options
    const output = formatOf(options)
    const filter = {
      ...(from === undefined ? {} : { fromDate: from }),
      actor: await userIdIn(actor, api),
      resource: await resourceIn(resource, api),
    }
    if (follow === true) {
      await followEvents(io, api, {
        request: { ...filter, afterPosition: after },
        format: async (followed) => {
          if (output === 'table') return printableLines(row(followed.event ?? create(AuditEventSchema)).join('  '))
          const text = await serialize(toJson(FollowedAuditEventSchema, followed), output, 0)
          return printableLines(output === 'yaml' ? `---\n${text}` : text)
        },
        onBegin: () => {
          if (output === 'table') io.stdout.write(`${painter(io, 'stdout', 'bold')(HEADING.join('  '))}\n`)
        },
        onEnd: (position) => {
          if (output === 'table' && position !== '') io.stderr.write(`to go on here: --after ${position}\n`)
        },
      })
      return
    }
    // One more than is printed shows whether there are older ones.
    const request = { ...filter, ...(to === undefined ? {} : { toDate: to }), pageSize: Math.min(1000, limit + 1) }
    const found: AuditEvent[] = []
    for await (const event of api.items(listAuditEvents, 'events', request)) if (found.push(event) > limit) break
    const events = found.slice(0, limit)
    const json = toJson(listAuditEvents.output, create(listAuditEvents.output, { events }))
    await printResult(io, options, json, () => tableOf(events))
    if (found.length > limit) io.stderr.write('there are older events: raise --limit, or go back with --to\n')
  },
})

/** The id of the user that a text names, here also by the name alone. */
async function userIdIn(text: string, api: Api): Promise<string> {
  return NO_USERS.includes(text) ? text : await resolveUser(api, parseUser(text) ?? { kind: 'name', name: text })
}

/** The resource with the id of its user. It may be part of the user, such as one of its secrets. */
async function resourceIn(text: string, api: Api): Promise<string> {
  const [, user = '', part = ''] = /^users\/([^/]*)(.*)$/s.exec(text) ?? []
  return user === '' ? text : `users/${await userIdIn(user, api)}${part}`
}

/** With a column of reasons if any event has one. */
function tableOf(events: readonly AuditEvent[]): Table {
  if (events.every(({ reason }) => reason === '')) return { heading: HEADING, rows: events.map(row) }
  const rows = events.map((event) => [...row(event), event.reason === '' ? '-' : event.reason])
  return { heading: [...HEADING, 'REASON'], rows }
}

/** Which method it was; the name of the service adds nothing, because its methods name what they change. */
function row({ eventDate, outcome, action, actor, clientAddress, resource, omission }: AuditEvent): string[] {
  return [
    formatMoment(eventDate),
    omission === undefined ? outcome : `${outcome} ${omission.count}`,
    action.slice(action.lastIndexOf('/') + 1),
    actor,
    clientAddress === '' ? '-' : clientAddress,
    resource,
  ]
}
