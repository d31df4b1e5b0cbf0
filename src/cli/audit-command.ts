/**
 * `keyturn audit`: who did what, and who was refused; with `--follow`, as it happens.
 */
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { create, type MessageInitShape, toJson } from '@bufbuild/protobuf'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import {
  type AuditEvent,
  AuditEventSchema,
  AuditService,
  type FollowAuditEventsRequestSchema,
  type FollowedAuditEvent,
  FollowedAuditEventSchema,
} from '../../gen/iam/audit/v2/audit_service_pb.js'
import { backoffMillis } from '../domain/time.ts'
import type { Api } from './api.ts'
import { command } from './commands.ts'
import { ConnectionError } from './connection/connection-failure.ts'
import { TokenRefusal } from './connection/token-request.ts'
import { describeFailure } from './failure.ts'
import { parseUser, resolveUser } from './identities/references.ts'
import type { Io } from './io.ts'
import { flag, option, sinceOption, UsageError, wholeNumber } from './options.ts'
import { formatOf, type OutputFormat, painter, printableLines, printResult, serialize, type Table } from './output.ts'
import { firstSignal } from './server/signals.ts'
import { formatMoment } from './times.ts'

const HEADING = ['TIME', 'OUTCOME', 'ACTION', 'ACTOR', 'ADDRESS', 'RESOURCE']

const NO_USERS = ['', 'system', 'anonymous']

const { listAuditEvents } = AuditService.method

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
    const filter = {
      ...(from === undefined ? {} : { fromDate: from }),
      actor: await userIdIn(actor, api),
      resource: await resourceIn(resource, api),
    }
    if (follow === true) {
      await followEvents(io, api, { request: { ...filter, afterPosition: after }, format: formatOf(options) })
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

const RETRY = { first: 500, longest: 15_000 }

/** The longest silence of a server, in milliseconds. It sends something four times as often. */
const SILENCE = 60_000

/** The ends of a stream after which another replica, or the same one later, goes on. */
const PASSING = [
  Code.Unavailable,
  Code.ResourceExhausted,
  Code.Aborted,
  Code.Unknown,
  Code.Internal,
  Code.DeadlineExceeded,
  Code.Unauthenticated,
]

/** Answers of a token endpoint that cannot answer now (RFC 6749 §4.1.2.1). */
const PASSING_REFUSALS = ['temporarily_unavailable', 'server_error']

/** Prints events until the command is interrupted or the reader of the output is gone. @throws what ends the stream for good, such as a lost right. */
async function followEvents(
  io: Io,
  api: Api,
  {
    request,
    format,
  }: { readonly request: MessageInitShape<typeof FollowAuditEventsRequestSchema>; readonly format: OutputFormat },
): Promise<void> {
  const client = createClient(AuditService, api.transport)
  const output = new AbortController()
  const onError = (error: Error) => output.abort(error)
  io.stdout.on('error', onError)
  const interrupted = new AbortController()
  void firstSignal().then(() => interrupted.abort())
  const signal = AbortSignal.any([output.signal, interrupted.signal])
  let position = request.afterPosition ?? ''
  let hasBegun = false
  /** In a row. */
  let failures = 0
  let refusedTokens = 0
  const receive = async () => {
    const silence = new AbortController()
    const end = () => silence.abort(new ConnectionError('the server has sent nothing for a minute'))
    let timer = setTimeout(end, SILENCE)
    try {
      for await (const { events, position: next } of client.followAuditEvents(
        { ...request, afterPosition: position },
        { signal: AbortSignal.any([signal, silence.signal]), timeoutMs: 0 },
      )) {
        // Printing may take long: that is no silence of the server.
        clearTimeout(timer)
        if (!hasBegun && format === 'table') io.stdout.write(`${painter(io, 'stdout', 'bold')(HEADING.join('  '))}\n`)
        hasBegun = true
        failures = 0
        refusedTokens = 0
        for (const followed of events) {
          const isTaken = io.stdout.write(`${printableLines(await formatFollowed(followed, format))}\n`)
          // A slow reader is waited for, so that memory holds one event.
          if (!isTaken) await once(io.stdout, 'drain', { signal }).catch(() => {})
          signal.throwIfAborted()
          position = followed.position
        }
        position = next
        timer = setTimeout(end, SILENCE)
      }
    } finally {
      clearTimeout(timer)
    }
  }
  try {
    while (!signal.aborted) {
      try {
        await receive()
      } catch (failure) {
        if (signal.aborted) break
        const error = api.explained(failure)
        failures += 1
        if (error instanceof ConnectError && error.code === Code.Unauthenticated) refusedTokens += 1
        // A token that has expired is replaced for the next call.
        if (position === '' || refusedTokens > 1 || !isPassing(error)) throw error
        if (failures > 1) io.stderr.write(`${printableLines(describeFailure(error))}: trying again\n`)
      }
      const wait = failures === 0 ? 0 : backoffMillis(failures, { ...RETRY, jitter: Math.random() / 2 })
      await delay(wait, undefined, { signal }).catch(() => {})
    }
    // The reader of a pipe that is closed has what it wanted.
    if (output.signal.aborted && output.signal.reason.code !== 'EPIPE') throw output.signal.reason
  } finally {
    if (hasBegun && format === 'table' && position !== '') io.stderr.write(`to go on here: --after ${position}\n`)
    io.stdout.off('error', onError)
  }
}

/** Whether it makes sense to go on after an error. */
function isPassing(error: unknown): boolean {
  if (error instanceof ConnectionError) return true
  if (error instanceof TokenRefusal) return PASSING_REFUSALS.includes(error.code)
  if (!(error instanceof ConnectError)) return false
  // Not of the API, which says what is wrong with an argument: the stream has no end.
  return PASSING.includes(error.code) || (error.code === Code.InvalidArgument && error.details.length === 0)
}

async function formatFollowed(followed: FollowedAuditEvent, format: OutputFormat): Promise<string> {
  if (format === 'table') return row(followed.event ?? create(AuditEventSchema)).join('  ')
  const text = await serialize(toJson(FollowedAuditEventSchema, followed), format, 0)
  return format === 'yaml' ? `---\n${text}` : text
}
