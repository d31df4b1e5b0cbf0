/**
 * The canonical spelling of ids: UUIDs in lower case (RFC 9562 §4). A database accepts other spellings of the same id.
 */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether anything can have this id. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}
