/**
 * Who is signed in. A one-time code in the address opens a session; the session itself is a cookie that script cannot read.
 */
import { signal } from '@preact/signals'
import { BACKGROUND, HEADER, PERSON } from '../api/console-header.ts'
import { isUnauthenticated } from '../api/failure.ts'
import { forgetPlace } from '../navigation/route.ts'

/** The signed-in service user, as the server describes it. */
export interface SignedIn {
  readonly userId: string
  readonly name: string
  readonly clientId: string
  readonly expiresAt: string
  readonly permissions: readonly string[]
}

/** What the page knows about the session. */
export type Session =
  | { readonly kind: 'opening' }
  | { readonly kind: 'signed-in'; readonly user: SignedIn }
  /** @property notice Why, if there is more to say than that nobody is signed in. */
  | { readonly kind: 'signed-out'; readonly notice: string }
  | { readonly kind: 'unreachable' }

/** The session. */
export const session = signal<Session>({ kind: 'opening' })

const PATH = '/console/session'
const UNAUTHENTICATED = 401

/** Signs in with the code in the address if there is one, and finds out who is signed in. */
export async function openSession(): Promise<void> {
  const code = takeCode()
  try {
    const notice = code === undefined ? '' : await redeem(code)
    session.value = await readSession(notice)
  } catch {
    session.value = { kind: 'unreachable' }
  }
}

/** Ends the session. */
export async function signOut(): Promise<void> {
  try {
    await fetch(PATH, { method: 'DELETE', headers: { [HEADER]: PERSON } })
    session.value = { kind: 'signed-out', notice: 'You have signed out.' }
  } catch {
    session.value = { kind: 'unreachable' }
  }
}

/** Goes to the sign-in page if a call failed because the session is over. */
export function noteEndOfSession(error: unknown): void {
  if (session.value.kind === 'signed-in' && isUnauthenticated(error)) {
    session.value = { kind: 'signed-out', notice: 'Your session has ended.' }
  }
}

/** Whether the signed-in user has a permission, so that what it may not do is not offered. The API decides. */
export function may(permission: string): boolean {
  return session.value.kind === 'signed-in' && session.value.user.permissions.includes(permission)
}

/** The code of the sign-in link. It is removed from the address, so that it is neither shown nor kept in the history. */
function takeCode(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get('code')
  if (code === null) return undefined
  forgetPlace()
  return code
}

/** @returns What to say if the code is refused. */
async function redeem(code: string): Promise<string> {
  const response = await fetch(PATH, {
    method: 'POST',
    headers: { [HEADER]: PERSON, 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  })
  if (response.ok) return ''
  const { message = 'the sign-in link was refused' } = (await response.json().catch(() => ({}))) as { message?: string }
  return message
}

async function readSession(notice: string): Promise<Session> {
  const response = await fetch(PATH, { headers: { [HEADER]: BACKGROUND } })
  if (response.ok) return { kind: 'signed-in', user: (await response.json()) as SignedIn }
  return response.status === UNAUTHENTICATED ? { kind: 'signed-out', notice } : { kind: 'unreachable' }
}
