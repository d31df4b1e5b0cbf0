/**
 * What a token says, which key signed it, and whether it would verify now. It is pasted, or one is requested for a service user.
 */
import { useState } from 'preact/hooks'
import { changeQuery, route } from '../navigation/route.ts'
import { CopyButton } from '../parts/copyable.tsx'
import { ErrorBoundary } from '../parts/error-boundary.tsx'
import { Field } from '../parts/field.tsx'
import { Notice } from '../parts/notice.tsx'
import { Outcome } from '../parts/outcome.tsx'
import { PageHeading } from '../parts/page-heading.tsx'
import { may } from '../session/session.ts'
import { ClaimsCard } from './claims-card.tsx'
import { decodeToken } from './decoded-token.ts'
import { GetTokenDialog } from './get-token-dialog.tsx'
import { VerificationCard } from './verification-card.tsx'

export function TokensPage() {
  const { query } = route.value
  const [isGetting, setIsGetting] = useState(false)
  const asked = query.get('user') ?? ''
  const [text, setText] = useState('')
  const [outcome, setOutcome] = useState('')
  const token = decodeToken(text)
  const change = (next: string) => {
    setText(next)
    setOutcome('')
  }
  return (
    <>
      <PageHeading title="Tokens">
        {may('iam.user.secret.write') && (
          <button type="button" class="button is-primary" onClick={() => setIsGetting(true)}>
            Get a token
          </button>
        )}
      </PageHeading>
      <p class="summary">
        Paste an access token to see what it says. It is decoded and verified here. One that Keyturn issued is sent back
        to Keyturn, which knows whether it was revoked; any other is sent nowhere.
      </p>
      <Outcome text={outcome} onClose={() => setOutcome('')} />
      <section class="card" aria-label="Token">
        <Field label="Access token">
          {(id) => (
            <textarea
              id={id}
              rows={5}
              spellcheck={false}
              autocomplete="off"
              value={text}
              onInput={({ currentTarget }) => change(currentTarget.value)}
            />
          )}
        </Field>
        {token !== undefined && (
          <p class="quiet after-field">
            Copy it <CopyButton text={token.text} what="the token" />
          </p>
        )}
      </section>
      <div class="stack" aria-live="polite">
        {text.trim() !== '' && token === undefined && (
          <Notice kind="warning">
            <p>
              {/^ktn_/.test(text.trim())
                ? 'This is no JWT but a secret of Keyturn, which says nothing about itself.'
                : 'This is no JWT: three parts in base64url between dots.'}
            </p>
          </Notice>
        )}
        {token !== undefined && (
          // A view of one token is never a view of another, also if that cannot be shown.
          <ErrorBoundary key={token.text}>
            <VerificationCard token={token} />
            <ClaimsCard token={token} />
          </ErrorBoundary>
        )}
      </div>
      {(isGetting || asked !== '') && may('iam.user.secret.write') && (
        <GetTokenDialog
          clientId={asked}
          onClose={() => {
            setIsGetting(false)
            // A step back to this place, or a reload, does not open it again.
            changeQuery({ user: '' })
          }}
          onDone={(got, { name }) => {
            setText(got)
            setOutcome(`A new access token of ${name}. It is in this page alone, and gone when you leave it.`)
          }}
        />
      )}
    </>
  )
}
