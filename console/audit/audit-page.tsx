/**
 * The audit trail: who did what, and who was refused. The filters are in the address; what fits them can be saved as a file.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type CallOptions, Code, ConnectError } from '@connectrpc/connect'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { AuditEvent, ListAuditEventsRequestSchema } from '../../gen/iam/audit/v2/audit_service_pb.js'
import { auditTrail, everyItemOf, IN_BACKGROUND, pagesOf, serviceUsers } from '../api/clients.ts'
import { formatToTheSecond, shortened } from '../format/text.ts'
import { changeQuery, linkTo, route } from '../navigation/route.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/buttons.tsx'
import { type Column, Listing } from '../parts/data-table.tsx'
import { Field } from '../parts/fields.tsx'
import { FailureNotice, PageHeading } from '../parts/page.tsx'
import { Copyable, Moment } from '../parts/values.tsx'
import { type ExportFormat, fileOf, MOST_EVENTS } from './audit-export.ts'

export function AuditPage() {
  const filter = filterOf(route.value.query)
  return (
    <>
      <PageHeading title="Audit trail">
        <ExportButtons filter={filter} />
      </PageHeading>
      <section class="card audit" aria-label="Events">
        <Filters filter={filter} />
        <div class="listing">
          <Listing
            caption="Events, newest first"
            columns={COLUMNS}
            name={`audit ${JSON.stringify(filter)}`}
            // Refusals make no new version.
            isPeriodic
            read={async (page, options) =>
              auditTrail.listAuditEvents({ ...(await requestOf(filter, options)), ...page }, options)
            }
            rowsOf={(page) => page.events}
            keyOf={({ eventId }) => eventId}
            empty="No event fits."
          />
        </div>
      </section>
    </>
  )
}

const FILTERS = [
  { name: 'from', label: 'From', type: 'datetime-local' },
  { name: 'to', label: 'Before', type: 'datetime-local' },
  { name: 'actor', label: 'Actor', type: 'text', placeholder: 'a user, system or anonymous' },
  { name: 'resource', label: 'Resource', type: 'text', placeholder: 'for example users/NAME' },
] as const

function Filters({ filter }: { readonly filter: AuditFilter }) {
  return (
    <form
      class="filters"
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault()
        const values = new FormData(event.currentTarget)
        changeQuery({
          ...Object.fromEntries(FILTERS.map(({ name }) => [name, String(values.get(name) ?? '')])),
          page: '',
        })
      }}
    >
      {FILTERS.map(({ label, ...input }) => (
        <Field key={input.name} label={label}>
          {(id) => <FilterInput id={id} value={filter[input.name]} {...input} />}
        </Field>
      ))}
      <div class="page-actions">
        <Button text="Apply" />
        <a
          class="button"
          href={linkTo(['audit'])}
          // What was not applied goes too.
          onClick={({ currentTarget }) => currentTarget.closest('form')?.reset()}
        >
          Clear
        </a>
      </div>
    </form>
  )
}

type FilterInputProps = Omit<(typeof FILTERS)[number], 'label'> & { readonly id: string; readonly value: string }

/** It keeps the focus when the filters are applied, and follows the address. */
function FilterInput({ value, type, ...others }: FilterInputProps) {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (input.current !== null) input.current.value = value
  }, [value])
  // Preact types each kind of input by itself.
  return <input {...others} ref={input} type={type as 'text'} autocomplete="off" defaultValue={value} />
}

const COLUMNS: readonly Column<AuditEvent>[] = [
  { name: 'Time', cell: ({ eventDate }) => <Moment at={eventDate} format={formatToTheSecond} /> },
  {
    name: 'Outcome',
    cell: ({ outcome, omission }) => (
      <span class={outcome === 'ok' ? 'badge is-success' : 'badge is-warning'}>
        {outcome}
        {omission !== undefined && ` ${omission.count}`}
      </span>
    ),
  },
  {
    name: 'Action',
    // The service adds nothing: its methods name what they change.
    cell: ({ action }) => <span title={action}>{action.slice(action.lastIndexOf('/') + 1)}</span>,
  },
  { name: 'Actor', cell: ({ actor }) => <Actor actor={actor} /> },
  { name: 'Resource', kind: 'main', cell: ({ resource }) => <Resource resource={resource} /> },
  { name: 'Address', cell: ({ clientAddress }) => clientAddress || '–' },
]

const USER_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function Actor({ actor }: { readonly actor: string }) {
  if (!USER_ID.test(actor)) return <>{actor}</>
  return (
    <a href={linkTo(['users', actor])} title={actor}>
      {shortened(actor)}
    </a>
  )
}

/** A UUID or a thumbprint is longer than the names that are in resources. */
const SHORTEST_ID = 36

function Resource({ resource }: { readonly resource: string }) {
  if (resource === '') return <>–</>
  const shown = resource
    .split('/')
    .map((part) => (part.length < SHORTEST_ID ? part : shortened(part)))
    .join('/')
  if (shown === resource) return <code>{resource}</code>
  return <Copyable text={resource} shown={shown} what={`the resource ${shown}`} />
}

function ExportButtons({ filter }: { readonly filter: AuditFilter }) {
  const [count, setCount] = useState(0)
  const [isCut, setIsCut] = useState(false)
  const abort = useRef<AbortController>(undefined)
  useEffect(() => () => abort.current?.abort(), [])
  const action = useAction(async (format: ExportFormat) => {
    abort.current = new AbortController()
    const { signal } = abort.current
    setCount(0)
    setIsCut(false)
    try {
      const { content, isWhole } = await fileOf(format, eventsOf(filter, signal), setCount)
      save(content, `keyturn-audit.${format}`)
      setIsCut(!isWhole)
    } catch (error) {
      if (!signal.aborted) throw error
    }
  })
  return (
    <>
      <span role="status" class="quiet">
        {action.isRunning && `${count} events…`}
        {isCut && `The file has the newest ${MOST_EVENTS} events only. Filter them to save the others.`}
      </span>
      {action.isRunning && <Button text="Cancel" onClick={() => abort.current?.abort()} />}
      <Button text="Export CSV" disabled={action.isRunning} onClick={() => void action.run('csv')} />
      <Button text="Export JSON lines" disabled={action.isRunning} onClick={() => void action.run('jsonl')} />
      <FailureNotice failure={action.failure} />
    </>
  )
}

/** Only the first page is caused by a person: an export must not keep a session in use. */
async function* eventsOf(filter: AuditFilter, signal: AbortSignal) {
  const pages = pagesOf(async (page) => {
    const options = { signal, ...(page.pageToken === '' ? {} : IN_BACKGROUND) }
    return auditTrail.listAuditEvents({ ...(await requestOf(filter, options)), ...page }, options)
  })
  for await (const { events } of pages) yield events
}

function save(content: Blob, name: string): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}

/** The filters. All texts; empty: none. */
interface AuditFilter {
  /** As a field for local time writes it, for example `2026-11-21T08:30`. */
  readonly from: string
  readonly to: string
  readonly actor: string
  readonly resource: string
}

/** Reads the filters of an address. */
function filterOf(query: URLSearchParams): AuditFilter {
  const read = (name: string) => query.get(name) ?? ''
  return { from: read('from'), to: read('to'), actor: read('actor'), resource: read('resource') }
}

/** The filters in a request, with the ids of users that they name. @throws {ConnectError} `not_found` if there is no such user. */
async function requestOf(
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
