/** The table of `docs/roles.md`: which role includes which permission. */
import { readFileSync } from 'node:fs'

/** The columns that include a permission, by permission: names of roles, and `itself`. */
export const PERMISSION_TABLE: ReadonlyMap<string, ReadonlySet<string>> = readTable()

function readTable(): ReadonlyMap<string, ReadonlySet<string>> {
  const page = readFileSync(new URL('../../docs/roles.md', import.meta.url), 'utf8')
  const [head = '', , ...rows] = page.split('\n').filter((line) => line.startsWith('|'))
  const [, , ...columns] = cellsOf(head)
  return new Map(
    rows.map((row) => {
      const [permission = '', , ...cells] = cellsOf(row)
      return [permission, new Set(columns.filter((_, index) => cells[index] === 'yes'))]
    }),
  )
}

function cellsOf(row: string): string[] {
  return row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('`', ''))
}
