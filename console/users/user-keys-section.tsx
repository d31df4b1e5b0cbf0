/**
 * The public keys with which a user proves who it is (`private_key_jwt`).
 */
import { useState } from 'preact/hooks'
import type { ServiceUser, UserKey } from '../../gen/iam/user/v2/service_user_pb.js'
import { serviceUsers } from '../api/clients.ts'
import { millisecondsOf } from '../format/moment.ts'
import { shortened } from '../format/shortened.ts'
import { CardSection } from '../parts/card-section.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { Copyable } from '../parts/copyable.tsx'
import { actionColumn, type Column, DataTable } from '../parts/data-table.tsx'
import { ExpiryField, expirationIn } from '../parts/expiry-field.tsx'
import { Field } from '../parts/field.tsx'
import { When } from '../parts/when.tsx'
import { mayWithUser } from '../session/rights.ts'

interface UserKeysSectionProps {
  readonly user: ServiceUser
  readonly keys: readonly UserKey[]
}

export function UserKeysSection({ user, keys }: UserKeysSectionProps) {
  const [open, setOpen] = useState<'add' | UserKey>()
  const mayChange = mayWithUser('iam.user.credential.write', user)
  const close = () => setOpen(undefined)
  const columns: Column<UserKey>[] = [
    {
      name: 'Key',
      kind: 'main',
      cell: ({ keyId }) => <Copyable text={keyId} shown={shortened(keyId)} what="the id of the key" />,
    },
    { name: 'Kind', cell: kindOf },
    { name: 'Created', cell: ({ creationDate }) => <When at={millisecondsOf(creationDate)} /> },
    { name: 'Ends', cell: ({ expirationDate }) => <When at={millisecondsOf(expirationDate)} otherwise="never" /> },
    actionColumn<UserKey>('Remove', {
      isShown: mayChange,
      labelOf: (key) => `Remove key ${shortened(key.keyId)}`,
      onClick: (key) => setOpen(key),
    }),
  ]
  return (
    <CardSection
      id="user-keys"
      title="Public keys"
      action={mayChange && { verb: 'Add public key', onClick: () => setOpen('add') }}
    >
      <DataTable
        caption="Public keys"
        columns={columns}
        rows={keys}
        keyOf={({ keyId }) => keyId}
        empty="No public keys. With one, the user proves who it is with assertions that its private key signs."
      />
      {open === 'add' && <AddDialog user={user} onClose={close} />}
      {open !== undefined && open !== 'add' && (
        <ConfirmDialog
          title={`Remove key ${shortened(open.keyId)}?`}
          verb="Remove"
          isDangerous
          onClose={close}
          change={() => serviceUsers.removeUserKey({ userId: user.userId, keyId: open.keyId })}
        >
          <p>Assertions that its private key signs are refused from then on.</p>
        </ConfirmDialog>
      )}
    </CardSection>
  )
}

function kindOf({ publicJwk }: UserKey): string {
  const { kty, crv } = JSON.parse(publicJwk) as { kty: string; crv?: string }
  return crv ?? kty
}

function AddDialog({ user, onClose }: { readonly user: ServiceUser; readonly onClose: () => void }) {
  const [publicJwk, setPublicJwk] = useState('')
  const [days, setDays] = useState(365)
  return (
    <ConfirmDialog
      title="Add a public key"
      verb="Add key"
      isIncomplete={publicJwk === ''}
      onClose={onClose}
      change={() => serviceUsers.addUserKey({ userId: user.userId, publicJwk, ...expirationIn(days) })}
    >
      <Field label="Public key" hint="A JWK, or a JWK Set. A private key is refused.">
        {(id) => (
          <textarea
            id={id}
            rows={6}
            spellcheck={false}
            value={publicJwk}
            onInput={({ currentTarget }) => setPublicJwk(currentTarget.value)}
          />
        )}
      </Field>
      <ExpiryField days={days} canBeNever onChange={setDays} />
    </ConfirmDialog>
  )
}
