/**
 * Gets an access token of a service user, with a client secret that is made for that and deleted at once, so that no secret has to be
 * pasted into the page.
 */
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import { useId, useState } from 'preact/hooks'
import type { ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { serviceUsers } from '../api/clients.ts'
import { now } from '../live/instance.ts'
import { useLoaded } from '../live/loaded.ts'
import { ConfirmDialog } from '../parts/dialogs.tsx'
import { Field, TextField } from '../parts/fields.tsx'

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

export function GetTokenDialog({ clientId: first, onDone }: GetTokenDialogProps) {
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
