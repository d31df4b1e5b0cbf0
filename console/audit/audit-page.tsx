/**
 * The audit trail: who did what, and who was refused. The filters are in the address.
 */
import { useEffect, useRef } from 'preact/hooks'
import type { AuditEvent } from '../../gen/iam/audit/v2/audit_service_pb.js'
import { auditTrail } from '../api/clients.ts'
import { formatExactly, formatToTheSecond, millisecondsOf } from '../format/moment.ts'
import { shortened } from '../format/shortened.ts'
import { now } from '../live/clock.ts'
import { useLoaded } from '../live/loaded.ts'
import { changeQuery, linkTo, route } from '../navigation/route.ts'
import { Copyable } from '../parts/copyable.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Field } from '../parts/field.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { PageHeading } from '../parts/page-heading.tsx'
import { Pager } from '../parts/pager.tsx'
import { type AuditFilter, filterOf, requestOf } from './audit-filter.ts'
import { ExportButtons } from './export-buttons.tsx'

const PAGE_SIZE = 50

export function AuditPage() {
  const { query } = route.value
  const filter = filterOf(query)
  const pageToken = query.get('page') ?? ''
  const loaded = useLoaded(
    `audit ${JSON.stringify(filter)} ${pageToken}`,
    async (options) =>
      auditTrail.listAuditEvents({ ...(await requestOf(filter, options)), pageSize: PAGE_SIZE, pageToken }, options),
    // Refusals make no new version.
    { isPeriodic: true },
  )
  return (
    <>
      <PageHeading title="Audit trail">
        <ExportButtons filter={filter} />
      </PageHeading>
      <section class="card audit" aria-label="Events">
        <Filters filter={filter} />
        <div class="listing">
          <LoadedView loaded={loaded}>
            {({ events, nextPageToken }) => (
              <>
                <DataTable
                  caption="Events, newest first"
                  columns={COLUMNS}
                  rows={events}
                  keyOf={({ eventId }) => eventId}
                  empty="No event fits."
                />
                <Pager pageToken={pageToken} nextPageToken={nextPageToken} />
              </>
            )}
          </LoadedView>
        </div>
      </section>
    </>
  )
}

const MOMENTS = [
  { name: 'from', label: 'From' },
  { name: 'to', label: 'Before' },
] as const

const TEXTS = [
  { name: 'actor', label: 'Actor', hint: 'a user, system or anonymous' },
  { name: 'resource', label: 'Resource', hint: 'for example users/NAME' },
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
          ...Object.fromEntries([...MOMENTS, ...TEXTS].map(({ name }) => [name, String(values.get(name) ?? '')])),
          page: '',
        })
      }}
    >
      {MOMENTS.map(({ name, label }) => (
        <FilterField key={name} label={label} value={filter[name]} name={name} type="datetime-local" />
      ))}
      {TEXTS.map(({ name, label, hint }) => (
        <FilterField key={name} label={label} value={filter[name]} name={name} type="text" hint={hint} />
      ))}
      <div class="page-actions">
        <button type="submit" class="button">
          Apply
        </button>
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

interface FilterFieldProps {
  readonly name: keyof AuditFilter
  readonly label: string
  readonly type: 'datetime-local' | 'text'
  readonly value: string
  readonly hint?: string
}

/** It keeps the focus when the filters are applied, and follows the address. */
function FilterField({ name, label, type, value, hint = '' }: FilterFieldProps) {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (input.current !== null) input.current.value = value
  }, [value])
  const shared = { ref: input, name, autocomplete: 'off', defaultValue: value } as const
  return (
    <Field label={label}>
      {(id) =>
        type === 'text' ? (
          <input id={id} type="text" placeholder={hint} {...shared} />
        ) : (
          <input id={id} type="datetime-local" {...shared} />
        )
      }
    </Field>
  )
}

const COLUMNS: readonly Column<AuditEvent>[] = [
  {
    name: 'Time',
    cell: ({ eventDate }) => {
      const at = millisecondsOf(eventDate)
      if (at === undefined) return ''
      return (
        <time dateTime={new Date(at).toISOString()} title={formatExactly(at)}>
          {formatToTheSecond(at, now.value)}
        </time>
      )
    },
  },
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
