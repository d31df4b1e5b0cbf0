/**
 * The addresses in `generateSecret.into`. What passes here is handed over to exactly what stands there: a URL is taken only if reading it
 * leaves nothing out and moves nothing.
 */
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const CONTROL = /\p{Cc}/u

/** Why an address cannot be a target; undefined if it can. */
export function targetRefusal(into: string): string | undefined {
  const path = into.startsWith('file:') ? decoded(into.slice('file://'.length)) : undefined
  if (CONTROL.test(path ?? into)) return 'it has a control character, such as NUL or a line break'
  if (!/^(?:file:\/\/\/.+|command:\S.*)$/.test(into)) return 'it is file:///path or command:program arguments'
  if (!into.startsWith('file:') || (path !== undefined && isWholePath(path, into))) return undefined
  return (
    'it is file:// and the whole path of a file: without . and .. as names, empty names, a query or a fragment; ' +
    'with %20 for a blank, %23 for #, %25 for % and %3F for ?'
  )
}

/** Equal for two addresses of the same target, which were taken. */
export function sameTarget(into: string): string {
  return into.startsWith('file:') ? `file://${decoded(into.slice('file://'.length))}` : into
}

function isWholePath(path: string, url: string): boolean {
  const asRead = attempt(() => fileURLToPath(url, { windows: false }))
  return !path.endsWith('/') && posix.normalize(path) === path && asRead === path
}

function decoded(text: string): string | undefined {
  return attempt(() => decodeURIComponent(text))
}

function attempt(read: () => string): string | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
