/**
 * A row of the database that is invalid. A replica must not ignore it, because that would drop the key or user that it should be.
 */

/** What the row should be. Few, because each is the value of a metric's label. */
export type RowKind =
  | 'console_session'
  | 'revoked_web_key'
  | 'rotation'
  | 'service_user'
  | 'sign_in_link'
  | 'trusted_issuer'
  | 'web_key'
  | 'webhook'

/** The message says which row it is and what is wrong with it, and nothing that is secret. */
export class UnreadableRow extends Error {
  override readonly name = 'UnreadableRow'
  readonly kind: RowKind
  /** The primary key of the row; empty if there is only one of the kind. */
  readonly id: string

  constructor(row: { readonly kind: RowKind; readonly id: string }, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.kind = row.kind
    this.id = row.id
  }
}
