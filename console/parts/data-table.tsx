/**
 * A table. Where the page is narrow, each row becomes a block of named values; the roles keep it a table for a screen reader.
 */
import type { CallOptions } from '@connectrpc/connect'
import type { ComponentChildren } from 'preact'
import { useLoaded } from '../live/loaded.ts'
import { linkTo, route } from '../navigation/route.ts'
import { Button } from './buttons.tsx'
import { ConfirmDialog } from './dialogs.tsx'
import { LoadedView } from './loaded-view.tsx'
import { usePage } from './page.tsx'

type ColumnKind = 'main' | 'text' | 'actions'

/** A column. */
export interface Column<Row> {
  readonly name: string
  cell(row: Row): ComponentChildren
  /** How it is set: the widest; one of long words; one of buttons; otherwise short and in one line. */
  readonly kind?: ColumnKind
}

export interface DataTableProps<Row> {
  /** What the rows are, for a screen reader. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  keyOf(row: Row): string
  /** What is said if there are no rows. */
  readonly empty?: ComponentChildren
  classOf?(row: Row): string
  /** What can be done with a row. Undefined or false: nothing, or not by this user. */
  readonly actionsOf?: ((row: Row) => readonly RowAction[]) | false
}

/** A button in a row, and the dialog that it opens. */
export interface RowAction {
  readonly verb: string
  /** For a screen reader. */
  readonly label: string
  readonly dialog: ComponentChildren
}

/** How a row is removed. */
export interface Removal extends Omit<RowAction, 'dialog'> {
  /** Default: the label as a question. */
  readonly title?: string
  /** What it does, to be read before it is done. */
  readonly consequence: ComponentChildren
  remove(): Promise<unknown>
}

/** Removes a row after a question. */
export function removal({ verb, label, title = `${label}?`, consequence, remove }: Removal): RowAction {
  const dialog = (
    <ConfirmDialog title={title} verb={verb} isDangerous change={remove}>
      <p>{consequence}</p>
    </ConfirmDialog>
  )
  return { verb, label, dialog }
}

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { caption, rows, keyOf, empty = 'None.', classOf, actionsOf = false } = props
  const { open } = usePage()
  if (rows.length === 0) return <p class="empty">{empty}</p>
  const columns = actionsOf === false ? props.columns : [...props.columns, actionsColumn(actionsOf, open)]
  return (
    <table class="table">
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ name, kind }) => (
            <th key={name} scope="col" class={classOfColumn(kind)}>
              {kind === 'actions' ? <span class="unseen">{name}</span> : name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)} class={classOf?.(row) ?? ''}>
            {columns.map(({ name, cell, kind }) => (
              <td key={name} class={classOfColumn(kind)} data-name={name}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function classOfColumn(kind: ColumnKind | undefined): string {
  return kind === undefined ? '' : `is-${kind}`
}

function actionsColumn<Row>(
  actionsOf: (row: Row) => readonly RowAction[],
  open: (dialog: ComponentChildren) => void,
): Column<Row> {
  return {
    name: 'Actions',
    kind: 'actions',
    cell: (row) =>
      actionsOf(row).map(({ verb, label, dialog }) => (
        <Button text={verb} isSmall key={label} label={label} onClick={() => open(dialog)} />
      )),
  }
}

/** How many rows a page of a listing has. */
const PAGE_SIZE = 50

interface Page {
  readonly nextPageToken: string
}

interface ListingProps<Row, P extends Page> extends Omit<DataTableProps<Row>, 'rows'> {
  /** What is listed. With another name, what was loaded before is dropped. */
  readonly name: string
  /** Whether something of it changes without a new version. */
  readonly isPeriodic?: boolean
  read(page: { readonly pageSize: number; readonly pageToken: string }, options: CallOptions): Promise<P>
  rowsOf(page: P): readonly Row[]
}

/** A table of that page of a list that is in the address. */
export function Listing<Row, P extends Page>(props: ListingProps<Row, P>) {
  const { name, isPeriodic = false, read, rowsOf, ...table } = props
  const pageToken = route.value.query.get('page') ?? ''
  const loaded = useLoaded(`${name} ${pageToken}`, (options) => read({ pageSize: PAGE_SIZE, pageToken }, options), {
    isPeriodic,
  })
  return (
    <LoadedView loaded={loaded}>
      {(page) => (
        <>
          <DataTable rows={rowsOf(page)} {...table} />
          <Pager nextPageToken={page.nextPageToken} />
        </>
      )}
    </LoadedView>
  )
}

/** The API goes forward only: back is the history of the browser. */
function Pager({ nextPageToken }: { readonly nextPageToken: string }) {
  const { path, query } = route.value
  const isFirst = (query.get('page') ?? '') === ''
  if (isFirst && nextPageToken === '') return null
  const page = (token: string) => linkTo(path, { ...Object.fromEntries(query), page: token })
  return (
    <nav class="pager" aria-label="Pages">
      {!isFirst && (
        <a class="button" href={page('')}>
          First page
        </a>
      )}
      {nextPageToken !== '' && (
        <a class="button" href={page(nextPageToken)}>
          Next page
        </a>
      )}
    </nav>
  )
}
