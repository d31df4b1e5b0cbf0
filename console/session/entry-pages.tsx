/**
 * What is shown without a session, and if the page cannot go on: it is not known who is signed in, the session could not be ended, or its
 * user has no rights.
 */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { Button, Icon } from '../parts/buttons.tsx'
import { Notice, sentence } from '../parts/page.tsx'
import { openSession, type SignedOut, signOut, type Unreachable, updatePermissions } from './session.ts'

/** How often the page asks again who is signed in, in milliseconds. */
const INTERVAL = 5000

/** Without a session: how to get one. */
export function SignInPage({ notice, signInPath }: SignedOut) {
  return (
    <main class="center">
      <div class="card">
        <h1>
          <Icon name="keys" /> Keyturn
        </h1>
        {notice !== '' && (
          <div role="status">
            <Notice kind="warning">{sentence(notice)}</Notice>
          </div>
        )}
        {signInPath !== undefined && (
          <p>
            <a class="button is-primary" href={signInPath}>
              Sign in with your account
            </a>
          </p>
        )}
        <p>
          With the credentials of a service user, you get a link that works once and for a minute. Run this where the
          credentials are:
        </p>
        <pre class="secret">
          <code>npx keyturn console</code>
        </pre>
        <p class="quiet">
          The session has the permissions of that service user, and ends after 30 minutes without use.
        </p>
      </div>
    </main>
  )
}

/** It is not known who is signed in. Asks again by itself. */
export function UnreachablePage({ message, notice, hasLink }: Unreachable) {
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
            <Button key={name} text={name} kind={index === 0 ? 'primary' : undefined} onClick={act} />
          ))}
        </p>
      </div>
    </main>
  )
}
