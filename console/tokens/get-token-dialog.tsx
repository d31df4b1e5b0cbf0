/**
 * Gets an access token of a service user.
 */
import { useId, useState } from 'preact/hooks'
import type { ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { serviceUsers } from '../api/clients.ts'
import { useLoaded } from '../live/loaded.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { Field } from '../parts/field.tsx'
import { requestToken } from './new-token.ts'

/** So many users are offered. */
const OFFERED = 20

interface GetTokenDialogProps {
  /** Of the user to begin with; empty: none. */
  readonly clientId: string
  readonly onClose: () => void
  readonly onDone: (token: string, user: ServiceUser) => void
}

export function GetTokenDialog({ clientId: first, onClose, onDone }: GetTokenDialogProps) {
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
      onClose={onClose}
      change={async () => {
        if (user === undefined) return
        onDone(await requestToken({ userId: user.userId, scope: scope.trim() }), user)
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
      <Field
        label="Scopes"
        hint="Separated by spaces. They decide its audience and claims, for example urn:service:iam:org:project:id:PROJECT_ID:aud."
      >
        {(id) => (
          <input
            id={id}
            type="text"
            autocomplete="off"
            spellcheck={false}
            value={scope}
            onInput={({ currentTarget }) => setScope(currentTarget.value)}
          />
        )}
      </Field>
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
