/** The canonical spelling of ids: UUIDs in lower case (RFC 9562 §4). A database accepts other spellings of the same id. */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Whether people take two URIs for the same: without regard to case and to slashes at the end. */
export function isSameName(one: string, other: string): boolean {
  return spelling(one) === spelling(other)
}

/**
 * The URI in one spelling: scheme and host in small letters, without the default port (RFC 3986 §6.2.2.1, §6.2.3). The rest stays as it is,
 * because verifiers compare audiences as texts.
 */
export function normalUri(uri: string): string {
  return uri.replace(/^[^:/?#]+:(?:\/\/[^/?#]*)?/, (start) =>
    start
      .toLowerCase()
      .replace(/^(https:.*):443$/, '$1')
      .replace(/^(http:.*):80$/, '$1'),
  )
}

function spelling(uri: string): string {
  return uri.toLowerCase().replace(/\/+$/, '')
}
