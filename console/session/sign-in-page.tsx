/**
 * What is shown without a session: how to get one.
 */
import { Icon } from '../parts/icon.tsx'
import { Notice, sentence } from '../parts/notice.tsx'

interface SignInPageProps {
  readonly notice: string
  readonly signInPath: string | undefined
}

/** Without a session. */
export function SignInPage({ notice, signInPath }: SignInPageProps) {
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
