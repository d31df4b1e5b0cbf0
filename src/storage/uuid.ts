/**
 * The one spelling of ids. PostgreSQL would take others for the same id, and fail on anything that is none.
 */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether anything can have this id. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}
