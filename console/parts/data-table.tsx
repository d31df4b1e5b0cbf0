/**
 * A table. Where the page is narrow, each row becomes a block of named values; the roles keep it a table for a screen reader.
 */
import type { ComponentChildren } from 'preact'

type ColumnKind = 'main' | 'text' | 'actions'

/** A column. */
export interface Column<Row> {
  readonly name: string
  cell(row: Row): ComponentChildren
  /** How it is set: the widest; one of long words; one of buttons; otherwise short and in one line. */
  readonly kind?: ColumnKind
}

interface DataTableProps<Row> {
  /** What the rows are, for a screen reader. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  keyOf(row: Row): string
  /** What is said if there are no rows. */
  readonly empty: ComponentChildren
  classOf?(row: Row): string
}

export function DataTable<Row>({ caption, columns, rows, keyOf, empty, classOf }: DataTableProps<Row>) {
  if (rows.length === 0) return <p class="empty">{empty}</p>
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

interface ActionOptions<Row> {
  /** Whether the caller may do it. */
  readonly isShown: boolean
  labelOf(row: Row): string
  onClick(row: Row): void
}

/** A column with one button for each row. */
export function actionColumn<Row>(verb: string, { isShown, labelOf, onClick }: ActionOptions<Row>): Column<Row> {
  return {
    name: 'Actions',
    kind: 'actions',
    cell: (row) =>
      isShown && (
        <button type="button" class="button is-small" aria-label={labelOf(row)} onClick={() => onClick(row)}>
          {verb}
        </button>
      ),
  }
}
