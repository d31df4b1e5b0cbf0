/**
 * What is shown without a session: how to get one.
 */
import { Icon } from '../parts/icon.tsx'
import { Notice, sentence } from '../parts/notice.tsx'
import { openSession } from './session.ts'

/** Without a session. */
export function SignInPage({ notice }: { readonly notice: string }) {
  return (
    <main class="center">
      <div class="card">
        <h1>
          <Icon name="keys" /> Keyturn
        </h1>
        {notice !== '' && (
          <div role="status">
            <Notice kind="warning">
              <p>{sentence(notice)}</p>
            </Notice>
          </div>
        )}
        <p>
          Nobody has an account here. Whoever has the credentials of a service user signs in with a link, which works
          once and for a minute. Run this where the credentials are:
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

/** Without an answer of the server. */
export function UnreachablePage() {
  return (
    <main class="center">
      <div class="card" role="alert">
        <h1>The server does not answer</h1>
        <p>The page could not find out who is signed in.</p>
        <p>
          <button type="button" class="button is-primary" onClick={() => void openSession()}>
            Try again
          </button>
        </p>
      </div>
    </main>
  )
}
