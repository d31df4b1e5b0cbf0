/**
 * The place in the console, which is in the fragment of the address: `#/users/ID?tab=keys`. So every place, with its filters, is a link.
 */
import { signal } from '@preact/signals'

/** A place. */
export interface Route {
  /** The segments of the path, decoded. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

/** The place that is shown. */
export const route = signal<Route>(readRoute())

/** The fragment that stays while the place is held. */
let held: string | undefined

addEventListener('hashchange', () => {
  if (held !== undefined && location.hash !== held) history.replaceState(null, '', location.pathname + held)
  route.value = readRoute()
})

/** Keeps the place, whatever the browser is asked for, because what is shown there cannot be shown again. @returns Lets it go. */
export function holdPlace(): () => void {
  const ask = (event: Event) => event.preventDefault()
  held = location.hash
  addEventListener('beforeunload', ask)
  return () => {
    held = undefined
    removeEventListener('beforeunload', ask)
  }
}

/** The address of a place, for a link. Empty values are left out. */
export function linkTo(path: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const parameters = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ''))
  const text = parameters.toString()
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

/** Goes to a place. */
export function goTo(path: readonly string[], query: Readonly<Record<string, string>> = {}): void {
  location.hash = linkTo(path, query)
}

/** Goes to the first place, and removes the present address from the history. */
export function forgetPlace(): void {
  history.replaceState(null, '', location.pathname)
  route.value = readRoute()
}

/** Changes the query of the place that is shown, without a new entry in the history. */
export function changeQuery(changes: Readonly<Record<string, string>>): void {
  const { path, query } = route.value
  history.replaceState(null, '', linkTo(path, { ...Object.fromEntries(query), ...changes }))
  route.value = readRoute()
}

function readRoute(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s)
  return { path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
