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
import { type Api, openApiOf } from './api.ts'
import { command } from './commands.ts'
import { ConnectionError } from './connection/connection-failure.ts'
import { TokenRefusal } from './connection/token-request.ts'
import { describeFailure } from './failure.ts'
import { resolveUser } from './identities/references.ts'
import type { Io } from './io.ts'
import { flag, option, sinceOption, UsageError, wholeNumber } from './options.ts'
import { formatOf, type OutputFormat, painter, printableLines, printResult, serialize } from './output.ts'
import { firstSignal } from './server/signals.ts'
import { formatMoment } from './times.ts'

const HEADING = ['TIME', 'OUTCOME', 'ACTION', 'ACTOR', 'ADDRESS', 'RESOURCE', 'REASON']

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
    await printResult(io, options, json, () => ({ heading: HEADING, rows: events.map(row) }))
    if (found.length > limit) io.stderr.write('there are older events: raise --limit, or go back with --to\n')
  },
})

async function userIdIn(text: string, api: Api): Promise<string> {
  return NO_USERS.includes(text) ? text : await resolveUser(text, api)
}

/** The resource with the id of its user. It may be part of the user, such as one of its secrets. */
async function resourceIn(text: string, api: Api): Promise<string> {
  const [, user = '', part = ''] = /^users\/([^/]*)(.*)$/s.exec(text) ?? []
  return user === '' ? text : `users/${await userIdIn(user, api)}${part}`
}

/** Which method it was; the name of the service adds nothing, because its methods name what they change. */
function row({ eventDate, outcome, action, actor, clientAddress, resource, omission, reason }: AuditEvent): string[] {
  return [
    formatMoment(eventDate),
    omission === undefined ? outcome : `${outcome} ${omission.count}`,
    action.slice(action.lastIndexOf('/') + 1),
    actor,
    clientAddress || '-',
    resource,
    reason,
  ]
}

const RETRY = { first: 500, longest: 15_000 }

/** The longest silence of a server, in milliseconds. It sends something four times as often. */
const SILENCE = 60_000

/** Prints events until the command is interrupted or the reader of the output is gone. @throws what ends the stream for good, such as a lost right. */
async function followEvents(
  io: Io,
  { target }: Api,
  {
    request,
    format,
  }: { readonly request: MessageInitShape<typeof FollowAuditEventsRequestSchema>; readonly format: OutputFormat },
): Promise<void> {
  const stopping = new AbortController()
  const { signal } = stopping
  const onError = (error: Error) => stopping.abort(error)
  io.stdout.on('error', onError)
  void firstSignal().then(() => stopping.abort())
  let position = request.afterPosition ?? ''
  let hasBegun = false
  let failures = 0
  const receive = async (api: Api) => {
    const silence = new AbortController()
    const end = () => silence.abort(new ConnectionError('the server has sent nothing for a minute'))
    const timer = setTimeout(end, SILENCE)
    try {
      for await (const { events, position: next } of createClient(AuditService, api.transport).followAuditEvents(
        { ...request, afterPosition: position },
        { signal: AbortSignal.any([signal, silence.signal]), timeoutMs: 0 },
      )) {
        if (!hasBegun && format === 'table') io.stdout.write(`${painter(io, 'stdout', 'bold')(HEADING.join('  '))}\n`)
        hasBegun = true
        failures = 0
        for (const followed of events) {
          const isTaken = io.stdout.write(`${printableLines(await formatFollowed(followed, format))}\n`)
          // A slow reader is waited for, so that memory holds one event.
          if (!isTaken) await once(io.stdout, 'drain', { signal }).catch(() => {})
          signal.throwIfAborted()
          position = followed.position
        }
        position = next
        timer.refresh()
      }
    } catch (error) {
      throw api.explained(error)
    } finally {
      clearTimeout(timer)
    }
  }
  try {
    while (!signal.aborted) {
      try {
        // With a new token: the one before may have expired.
        await receive(await openApiOf(target))
      } catch (error) {
        if (signal.aborted) break
        failures += 1
        if (position === '' || !isPassing(error, failures)) throw error
        if (failures > 1) io.stderr.write(`${printableLines(describeFailure(error))}: trying again\n`)
      }
      const wait = failures === 0 ? 0 : backoffMillis(failures, { ...RETRY, jitter: Math.random() / 2 })
      await delay(wait, undefined, { signal }).catch(() => {})
    }
    // The reader of a pipe that is closed has what it wanted, and so has who interrupted it.
    if (signal.reason.code !== 'EPIPE' && signal.reason.name !== 'AbortError') throw signal.reason
  } finally {
    if (hasBegun && format === 'table' && position !== '') io.stderr.write(`to go on here: --after ${position}\n`)
    io.stdout.off('error', onError)
  }
}

/** After so many in a row, a minute or two, what refuses without a reason is no proxy that restarts. */
const MAX_UNEXPLAINED = 12

/** Whether another replica, or the same one later, may go on after an error. @param failures In a row. */
function isPassing(error: unknown, failures: number): boolean {
  if (error instanceof TokenRefusal) return ['temporarily_unavailable', 'server_error'].includes(error.code)
  if (!(error instanceof ConnectError)) return error instanceof ConnectionError
  if (error.code === Code.Unauthenticated) return failures === 1
  // A refusal of the API, and not of a proxy, says why.
  return (
    (error.details.length === 0 && failures < MAX_UNEXPLAINED) ||
    [Code.Unavailable, Code.ResourceExhausted, Code.Aborted, Code.Internal].includes(error.code)
  )
}

async function formatFollowed(followed: FollowedAuditEvent, format: OutputFormat): Promise<string> {
  if (format === 'table') return row(followed.event ?? create(AuditEventSchema)).join('  ')
  const text = await serialize(toJson(FollowedAuditEventSchema, followed), format, 0)
  return format === 'yaml' ? `---\n${text}` : text
}
