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

/** The fragment that stays while the place is held, and what is called with one that the browser was asked for. */
let held: { readonly fragment: string; onLeave(fragment: string): void } | undefined

addEventListener('hashchange', () => {
  const asked = location.hash
  if (held !== undefined && asked !== held.fragment) {
    history.replaceState(null, '', location.pathname + held.fragment)
    held.onLeave(asked)
  }
  route.value = readRoute()
})

/**
 * Keeps the place when the browser is asked for another one, and has the browser ask before the page is left.
 *
 * @param onLeave Called with what `leaveFor` takes to go there all the same.
 * @returns Lets it go.
 */
export function holdPlace(onLeave: (fragment: string) => void = () => {}): () => void {
  const ask = (event: Event) => event.preventDefault()
  const hold = { fragment: location.hash, onLeave }
  held = hold
  addEventListener('beforeunload', ask)
  return () => {
    if (held === hold) held = undefined
    removeEventListener('beforeunload', ask)
  }
}

/** Goes where the browser was asked to go while the place was held. The history is as if it had not been held. */
export function leaveFor(fragment: string): void {
  held = undefined
  location.replace(fragment || '#')
}

/** The address of a place, for a link. Empty values are left out. */
export function linkTo(path: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const parameters = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ''))
  const text = parameters.toString()
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

/** Goes to a place, also from one that is held: what is done there is done. */
export function goTo(path: readonly string[], query: Readonly<Record<string, string>> = {}): void {
  held = undefined
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
