/** Makes something of a row. One that is not valid is refused, never repaired. */
import { messageOf, type RowKind, UnreadableRow } from '../../domain/errors.ts'

/**
 * @param id The primary key of the row; empty if it has no name that may be told.
 * @param label What the message calls it.
 * @throws {UnreadableRow} for whatever `read` throws.
 */
export function readRow<T>(kind: RowKind, id: string, label: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new UnreadableRow({ kind, id }, `${label} in the database is not valid: ${messageOf(error)}`, error)
  }
}
