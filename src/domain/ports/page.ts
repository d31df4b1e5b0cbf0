/** A page of a list: what comes after a cursor, which is the last item of the page before. */
export interface Page<Cursor> {
  readonly after: Cursor | null
  readonly limit: number
}
