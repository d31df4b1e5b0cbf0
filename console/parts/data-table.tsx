/**
 * A table. Where the page is narrow, each row becomes a block of named values; the roles keep it a table for a screen reader.
 */

import type { CallOptions } from '@connectrpc/connect'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type Loaded, type LoadOptions, useLoaded } from '../live/loaded.ts'
import { linkTo, route } from '../navigation/route.ts'
import { Button } from './buttons.tsx'
import { Closing, ConfirmDialog } from './dialogs.tsx'
import { LoadedView } from './loaded-view.tsx'

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
  /** What can be done with a row. Undefined: nothing. */
  readonly actionsOf?: ((row: Row) => readonly RowAction[]) | undefined
  /** Undefined or false: rows cannot be removed, or not by this user. */
  readonly removal?: Removal<Row> | false
}

/** A button in a row. */
export interface RowAction {
  readonly verb: string
  /** For a screen reader. */
  readonly label: string
  onClick(): void
}

/** How a row is removed: by a button in it, after a question. */
export interface Removal<Row> {
  readonly verb: string
  /** For a screen reader. */
  labelOf(row: Row): string
  /** Default: the label as a question. */
  titleOf?(row: Row): string
  /** What it does, to be read before it is done. */
  consequenceOf(row: Row): ComponentChildren
  remove(row: Row): Promise<unknown>
}

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { caption, rows, keyOf, empty = 'None.', classOf, removal = false } = props
  const [removed, setRemoved] = useState<Row>()
  const actionsOf =
    removal === false ? props.actionsOf : (row: Row) => [removalOf(removal, row, () => setRemoved(() => row))]
  const columns = actionsOf === undefined ? props.columns : [...props.columns, actionsColumn(actionsOf)]
  return (
    <>
      {rows.length === 0 ? (
        <p class="empty">{empty}</p>
      ) : (
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
      )}
      {removal !== false && removed !== undefined && (
        <Closing.Provider value={() => setRemoved(undefined)}>
          <ConfirmDialog
            title={removal.titleOf?.(removed) ?? `${removal.labelOf(removed)}?`}
            verb={removal.verb}
            isDangerous
            change={() => removal.remove(removed)}
          >
            <p>{removal.consequenceOf(removed)}</p>
          </ConfirmDialog>
        </Closing.Provider>
      )}
    </>
  )
}

function classOfColumn(kind: ColumnKind | undefined): string {
  return kind === undefined ? '' : `is-${kind}`
}

function removalOf<Row>({ verb, labelOf }: Removal<Row>, row: Row, onClick: () => void): RowAction {
  return { verb, label: labelOf(row), onClick }
}

function actionsColumn<Row>(actionsOf: (row: Row) => readonly RowAction[]): Column<Row> {
  return {
    name: 'Actions',
    kind: 'actions',
    cell: (row) =>
      actionsOf(row).map(({ verb, label, onClick }) => (
        <Button text={verb} isSmall key={label} label={label} onClick={onClick} />
      )),
  }
}

/** How many rows a page of a listing has. */
const PAGE_SIZE = 50

interface Page {
  readonly nextPageToken: string
}

/** Loads the page of a list that is in the address. */
export function useListing<P extends Page>(
  name: string,
  read: (page: { readonly pageSize: number; readonly pageToken: string }, options: CallOptions) => Promise<P>,
  loading: LoadOptions = {},
): Loaded<P> {
  const pageToken = route.value.query.get('page') ?? ''
  return useLoaded(`${name} ${pageToken}`, (options) => read({ pageSize: PAGE_SIZE, pageToken }, options), loading)
}

interface ListingProps<Row, P extends Page> extends Omit<DataTableProps<Row>, 'rows'> {
  readonly loaded: Loaded<P>
  rowsOf(page: P): readonly Row[]
}

/** A table of one page of a list. */
export function Listing<Row, P extends Page>({ loaded, rowsOf, ...table }: ListingProps<Row, P>) {
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
      {isFirst ? (
        <span />
      ) : (
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
