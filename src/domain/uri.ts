/**
 * URIs that name a service.
 */

/** Whether people take two URIs for the same: without regard to case and to slashes at the end. */
export function isSameName(one: string, other: string): boolean {
  return spelling(one) === spelling(other)
}

function spelling(uri: string): string {
  return uri.toLowerCase().replace(/\/+$/, '')
}
