/**
 * What a token says, which key signed it, and whether it would verify now. It is pasted, or one is requested for a service user.
 */
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import { useEffect, useId, useState } from 'preact/hooks'
import type { ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { serviceUsers } from '../api/clients.ts'
import { formatDistance, formatExactly, isMoment } from '../format/text.ts'
import { now } from '../live/instance.ts'
import { useLoaded } from '../live/loaded.ts'
import { changeQuery, route } from '../navigation/route.ts'
import { ConfirmDialog, DialogButton } from '../parts/dialogs.tsx'
import { Field, LongTextField, TextField } from '../parts/fields.tsx'
import { ErrorBoundary, Fact, Notice, PageHeading, usePage } from '../parts/page.tsx'
import { CopyButton } from '../parts/values.tsx'
import { may } from '../session/session.ts'
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

/** So many users are offered. */
const OFFERED = 20
const TOKEN_ENDPOINT = '/oauth/v2/token'
/** How long the secret works if it cannot be deleted, in milliseconds. */
const SECRET_LIFETIME = 60_000

interface GetTokenDialogProps {
  /** Of the user to begin with; empty: none. */
  readonly clientId: string
  readonly onDone: (token: string, user: ServiceUser) => void
}

/** Makes a client secret for one request and deletes it at once, so that none has to be pasted into the page. */
function GetTokenDialog({ clientId: first, onDone }: GetTokenDialogProps) {
  const [text, setText] = useState(first)
  const [scope, setScope] = useState('openid')
  const known = useId()
  const search = text.trim()
  const { value } = useLoaded(`users with ${search}`, (options) =>
    serviceUsers.listServiceUsers({ search, pageSize: OFFERED }, options),
  )
  const found = value?.serviceUsers ?? []
  const user = found.find(({ clientId }) => clientId === search) ?? (found.length === 1 ? found[0] : undefined)
  return (
    <ConfirmDialog
      title="Get a token"
      verb="Get token"
      isIncomplete={search === '' || user === undefined}
      change={async () => {
        if (user !== undefined) onDone(await requestToken(user, scope.trim()), user)
      }}
    >
      <Field label="Service user" hint={hintFor(search, user)}>
        {(id) => (
          <>
            <input
              id={id}
              type="text"
              list={known}
              required
              autocomplete="off"
              spellcheck={false}
              maxLength={200}
              value={text}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
            <datalist id={known}>
              {found.map(({ userId, clientId, name }) => (
                <option key={userId} value={clientId}>
                  {name}
                </option>
              ))}
            </datalist>
          </>
        )}
      </Field>
      <TextField
        label="Scopes"
        hint="Separated by spaces. They decide its audience and claims, for example urn:service:iam:org:project:id:PROJECT_ID:aud."
        spellcheck={false}
        value={scope}
        onChange={setScope}
      />
      <p>
        You need no secret: the page makes a client secret for this one request and deletes it at once. It works for a
        minute at most and is shown nowhere. The audit trail says that you did both.
      </p>
      <p>The token can do what the user can, until it expires.</p>
    </ConfirmDialog>
  )
}

function hintFor(search: string, user: ServiceUser | undefined): string {
  if (search === '') return 'Its client ID, or enough of its name to find it.'
  return user === undefined ? 'Choose one: none or several have this.' : `This is ${user.name}.`
}

/** @throws {ConnectError} with the words of the API or of the token endpoint. */
async function requestToken({ userId }: ServiceUser, scope: string): Promise<string> {
  const expirationDate = timestampFromMs(now.value + SECRET_LIFETIME)
  const { clientId, clientSecret, secret } = await serviceUsers.generateClientSecret({ userId, expirationDate })
  try {
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret, scope }
    const response = await fetch(TOKEN_ENDPOINT, { method: 'POST', body: new URLSearchParams(form), cache: 'no-store' })
    const body = (await response.json()) as Readonly<Record<string, unknown>>
    if (typeof body.access_token === 'string') return body.access_token
    const reason = String(body.error_description ?? body.message ?? response.status)
    throw new ConnectError(`the token endpoint refused: ${reason}`, Code.FailedPrecondition)
  } finally {
    // It works for a minute at most, so that the token is not lost with a failure here.
    await serviceUsers.deleteClientSecret({ userId, secretId: secret?.secretId ?? '' }).catch(() => undefined)
  }
}
