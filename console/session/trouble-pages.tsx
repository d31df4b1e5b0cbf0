/**
 * What is shown if the page cannot go on: it is not known who is signed in, the session could not be ended, or its user has no rights.
 */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { sentence } from '../parts/notice.tsx'
import { openSession, signOut, updatePermissions } from './session.ts'

/** How often the page asks again who is signed in, in milliseconds. */
const INTERVAL = 5000

interface UnreachablePageProps {
  readonly message: string
  readonly notice: string
  readonly hasLink: boolean
}

/** It is not known who is signed in. Asks again by itself. */
export function UnreachablePage({ message, notice, hasLink }: UnreachablePageProps) {
  const again = () => void openSession(notice)
  useEffect(() => {
    const timer = setInterval(() => document.hidden || again(), INTERVAL)
    return () => clearInterval(timer)
  }, [notice])
  return (
    <Trouble title="The console cannot be opened" actions={[['Try again', again]]}>
      <p>{sentence(message)} The page tries again by itself.</p>
      {hasLink && <p>Your sign-in link has not been used. It works for a minute after it was made.</p>}
    </Trouble>
  )
}

/** The session goes on although its user has ended it. */
export function SignOutFailedPage({ message }: { readonly message: string }) {
  const actions: Action[] = [
    ['Try again', () => void signOut()],
    ['Back to the console', () => void openSession()],
  ]
  return (
    <Trouble title="You are still signed in" actions={actions}>
      <p>Signing out failed, and the session goes on. {sentence(message)}</p>
    </Trouble>
  )
}

/** All roles of the user were taken away. */
export function NoRightsPage({ name }: { readonly name: string }) {
  const actions: Action[] = [
    ['Try again', () => void updatePermissions()],
    ['Sign out', () => void signOut()],
  ]
  return (
    <Trouble title="You may not use the console any more" actions={actions}>
      <p>{name} has no role over the instance or a project. An owner can give it one.</p>
    </Trouble>
  )
}

type Action = readonly [name: string, act: () => void]

interface TroubleProps {
  readonly title: string
  readonly actions: readonly Action[]
  readonly children: ComponentChildren
}

function Trouble({ title, actions, children }: TroubleProps) {
  return (
    <main class="center">
      <div class="card">
        <div role="alert">
          <h1>{title}</h1>
          {children}
        </div>
        <p class="page-actions">
          {actions.map(([name, act], index) => (
            <button key={name} type="button" class={index === 0 ? 'button is-primary' : 'button'} onClick={act}>
              {name}
            </button>
          ))}
        </p>
      </div>
    </main>
  )
}
