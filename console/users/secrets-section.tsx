/**
 * The client secrets of a user, with their last use, and the way to rotate one without an outage.
 */
import { useState } from 'preact/hooks'
import type { ClientSecret, ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { serviceUsers } from '../api/clients.ts'
import { millisecondsOf } from '../format/moment.ts'
import { shortened } from '../format/shortened.ts'
import { now } from '../live/clock.ts'
import { tokenLifetime } from '../live/instance.ts'
import { CardSection } from '../parts/card-section.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { Copyable } from '../parts/copyable.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { ExpiryField, expirationIn } from '../parts/expiry-field.tsx'
import { Notice } from '../parts/notice.tsx'
import { ShownOnce } from '../parts/shown-once.tsx'
import { Distance, When } from '../parts/when.tsx'
import { mayWithUser } from '../session/rights.ts'
import { SecretRotation } from './secret-rotation.tsx'
import { stateOfSecret } from './secret-state.ts'

type Open =
  | { readonly kind: 'generate' }
  | { readonly kind: 'shown'; readonly secret: string }
  | { readonly kind: 'deactivate' | 'delete'; readonly secret: ClientSecret }

interface SecretsSectionProps {
  readonly user: ServiceUser
  readonly secrets: readonly ClientSecret[]
}

export function SecretsSection({ user, secrets }: SecretsSectionProps) {
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const mayChange = mayWithUser('iam.user.secret.write', user)
  return (
    <CardSection
      id="secrets"
      title="Client secrets"
      action={mayChange && { verb: 'Generate secret', onClick: () => setOpen({ kind: 'generate' }) }}
    >
      <SecretTable secrets={secrets} onOpen={mayChange ? (kind, secret) => setOpen({ kind, secret }) : undefined} />
      <SecretRotation
        secrets={secrets}
        onDeactivate={mayChange ? (secret) => setOpen({ kind: 'deactivate', secret }) : undefined}
      />
      {open?.kind === 'generate' && (
        <GenerateDialog user={user} onClose={close} onGenerated={(secret) => setOpen({ kind: 'shown', secret })} />
      )}
      {open?.kind === 'shown' && (
        <ShownOnce title="The new secret" secret={open.secret} what="client secret" onClose={close}>
          <div class="field">
            <span class="label">The client ID</span>
            <Copyable text={user.clientId} what="the client ID" />
          </div>
        </ShownOnce>
      )}
      {open?.kind === 'deactivate' && <DeactivateDialog user={user} secret={open.secret} onClose={close} />}
      {open?.kind === 'delete' && <DeleteDialog user={user} secret={open.secret} onClose={close} />}
    </CardSection>
  )
}

interface SecretTableProps {
  readonly secrets: readonly ClientSecret[]
  readonly onOpen: ((kind: 'deactivate' | 'delete', secret: ClientSecret) => void) | undefined
}

function SecretTable({ secrets, onOpen }: SecretTableProps) {
  const columns: Column<ClientSecret>[] = [
    {
      name: 'Secret',
      kind: 'main',
      cell: ({ secretId }) => <Copyable text={secretId} shown={shortened(secretId)} what="the id of the secret" />,
    },
    {
      name: 'State',
      cell: (secret) => {
        const { text, tone } = stateOfSecret(secret, now.value)
        return <span class={`badge is-${tone}`}>{text}</span>
      },
    },
    { name: 'Last use', cell: ({ lastUseDate }) => <Distance at={millisecondsOf(lastUseDate)} otherwise="never" /> },
    { name: 'Created', cell: ({ creationDate }) => <When at={millisecondsOf(creationDate)} /> },
    { name: 'Ends', cell: ({ expirationDate }) => <When at={millisecondsOf(expirationDate)} otherwise="never" /> },
    {
      name: 'Actions',
      kind: 'actions',
      cell: (secret) => {
        if (onOpen === undefined) return null
        const kind = stateOfSecret(secret, now.value).kind === 'live' ? 'deactivate' : 'delete'
        return (
          <button
            type="button"
            class="button is-small"
            aria-label={`${VERBS[kind]} secret ${shortened(secret.secretId)}`}
            onClick={() => onOpen(kind, secret)}
          >
            {VERBS[kind]}
          </button>
        )
      },
    },
  ]
  return (
    <DataTable
      caption="Client secrets"
      columns={columns}
      rows={secrets}
      keyOf={({ secretId }) => secretId}
      empty="No secrets. Generate one, so that the user can request tokens."
      classOf={(secret) => (stateOfSecret(secret, now.value).kind === 'live' ? '' : 'is-over')}
    />
  )
}

const VERBS = { deactivate: 'Deactivate', delete: 'Delete' } as const

interface GenerateDialogProps {
  readonly user: ServiceUser
  readonly onClose: () => void
  readonly onGenerated: (secret: string) => void
}

function GenerateDialog({ user, onClose, onGenerated }: GenerateDialogProps) {
  const [days, setDays] = useState(90)
  return (
    <ConfirmDialog
      title="Generate a client secret"
      verb="Generate"
      onClose={onClose}
      change={() => serviceUsers.generateClientSecret({ userId: user.userId, ...expirationIn(days) })}
      onDone={({ clientSecret }) => onGenerated(clientSecret)}
    >
      <p>The secrets that {user.name} has go on working. The new one is shown once.</p>
      <ExpiryField days={days} canBeNever onChange={setDays} />
    </ConfirmDialog>
  )
}

interface SecretDialogProps {
  readonly user: ServiceUser
  readonly secret: ClientSecret
  readonly onClose: () => void
}

function DeactivateDialog({ user, secret, onClose }: SecretDialogProps) {
  const used = millisecondsOf(secret.lastUseDate)
  const token = tokenLifetime.value
  const isInUse = used !== undefined && now.value - used < token
  return (
    <ConfirmDialog
      title={`Deactivate secret ${shortened(secret.secretId)}?`}
      verb="Deactivate for good"
      isDangerous
      onClose={onClose}
      change={() => serviceUsers.deactivateClientSecret({ userId: user.userId, secretId: secret.secretId })}
    >
      <p>
        No token is issued for it any more. Tokens that it got before are valid until they expire. This cannot be
        undone.
      </p>
      {isInUse ? (
        <Notice kind="warning">
          <p>
            <strong>
              It was last used <Distance at={used} />,
            </strong>{' '}
            which is less than a token lives: an instance of the service may still need it.
          </p>
        </Notice>
      ) : (
        <p>
          {used === undefined ? (
            'It has never been used.'
          ) : (
            <>
              It was last used <Distance at={used} />.
            </>
          )}
        </p>
      )}
    </ConfirmDialog>
  )
}

function DeleteDialog({ user, secret, onClose }: SecretDialogProps) {
  return (
    <ConfirmDialog
      title={`Delete secret ${shortened(secret.secretId)}?`}
      verb="Delete"
      isDangerous
      onClose={onClose}
      change={() => serviceUsers.deleteClientSecret({ userId: user.userId, secretId: secret.secretId })}
    >
      <p>It works no more. Deleting it only removes it from the list; the audit trail keeps its events.</p>
    </ConfirmDialog>
  )
}
