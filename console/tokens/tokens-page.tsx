/**
 * What a token says, which key signed it, and whether it would verify now. It is pasted, or one is requested for a service user.
 */
import { useEffect, useState } from 'preact/hooks'
import { formatDistance, formatExactly, isMoment } from '../format/text.ts'
import { now } from '../live/instance.ts'
import { changeQuery, route } from '../navigation/route.ts'
import { DialogButton } from '../parts/dialogs.tsx'
import { LongTextField } from '../parts/fields.tsx'
import { ErrorBoundary, Fact, Notice, PageHeading, usePage } from '../parts/page.tsx'
import { CopyButton } from '../parts/values.tsx'
import { may } from '../session/session.ts'
import { GetTokenDialog } from './get-token-dialog.tsx'
import { type DecodedToken, decodeToken, textOf } from './verification.ts'
import { VerificationCard } from './verification-card.tsx'

export function TokensPage() {
  const { open, say } = usePage()
  const asked = route.value.query.get('user') ?? ''
  const mayGet = may('iam.user.secret.write')
  const [text, setText] = useState('')
  const token = decodeToken(text)
  const change = (next: string) => {
    setText(next)
    say('')
  }
  const dialogFor = (clientId: string) => (
    <GetTokenDialog
      clientId={clientId}
      onDone={(got, { name }) => {
        setText(got)
        say(`A new access token of ${name}. It is in this page alone, and gone when you leave it.`)
      }}
    />
  )
  useEffect(() => {
    if (asked === '' || !mayGet) return
    open(dialogFor(asked))
    // A step back to this place, or a reload, does not open it again.
    changeQuery({ user: '' })
  }, [asked])
  return (
    <>
      <PageHeading title="Tokens">
        {mayGet && <DialogButton text="Get a token" kind="primary" dialog={dialogFor('')} />}
      </PageHeading>
      <p class="summary">
        Paste an access token to see what it says. It is decoded and verified here. One that Keyturn issued is sent back
        to Keyturn, which knows whether it was revoked; any other is sent nowhere.
      </p>
      <section class="card" aria-label="Token">
        <LongTextField label="Access token" rows={5} value={text} onChange={change} />
        {token !== undefined && (
          <p class="quiet after-field">
            Copy it <CopyButton text={token.text} what="the token" />
          </p>
        )}
      </section>
      <div class="stack" aria-live="polite">
        {text.trim() !== '' && token === undefined && (
          <Notice kind="warning">
            {/^ktn_/.test(text.trim())
              ? 'This is no JWT but a secret of Keyturn, which says nothing about itself.'
              : 'This is no JWT: three parts in base64url between dots.'}
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
    </>
  )
}

const MOMENTS = ['exp', 'iat', 'nbf', 'auth_time']

function ClaimsCard({ token: { header, claims } }: { readonly token: DecodedToken }) {
  return (
    <section class="card" aria-labelledby="claims-title">
      <div class="two-columns">
        <div>
          <h2 id="claims-title">Claims</h2>
          <Members of={claims} />
        </div>
        <div>
          <h2>Header</h2>
          <Members of={header} />
        </div>
      </div>
    </section>
  )
}

function Members({ of: members }: { readonly of: Readonly<Record<string, unknown>> }) {
  return (
    <dl class="facts claims">
      {Object.entries(members).map(([name, value]) => (
        <Fact key={name} name={<code>{name}</code>}>
          {MOMENTS.includes(name) && typeof value === 'number' && isMoment(value * 1000) ? (
            <>
              {formatExactly(value * 1000)} <span class="quiet">({formatDistance(value * 1000, now.value)})</span>
            </>
          ) : (
            <code>{textOf(value)}</code>
          )}
        </Fact>
      ))}
    </dl>
  )
}
