/**
 * The personal access tokens of a user.
 */
import { useState } from 'preact/hooks'
import type { PersonalAccessToken, ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { serviceUsers } from '../api/clients.ts'
import { formatDistance, millisecondsOf } from '../format/moment.ts'
import { shortened } from '../format/shortened.ts'
import { now } from '../live/clock.ts'
import { CardSection } from '../parts/card-section.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { Copyable } from '../parts/copyable.tsx'
import { actionColumn, type Column, DataTable } from '../parts/data-table.tsx'
import { ExpiryField, expirationIn } from '../parts/expiry-field.tsx'
import { ShownOnce } from '../parts/shown-once.tsx'
import { When } from '../parts/when.tsx'
import { mayWithUser } from '../session/rights.ts'

type Open =
  | { readonly kind: 'create' }
  | { readonly kind: 'shown'; readonly token: string }
  | { readonly kind: 'revoke'; readonly tokenId: string }

interface PersonalTokensSectionProps {
  readonly user: ServiceUser
  readonly tokens: readonly PersonalAccessToken[]
}

export function PersonalTokensSection({ user, tokens }: PersonalTokensSectionProps) {
  const [open, setOpen] = useState<Open>()
  const { userId } = user
  const close = () => setOpen(undefined)
  const mayChange = mayWithUser('iam.user.credential.write', user)
  const columns: Column<PersonalAccessToken>[] = [
    {
      name: 'Token',
      kind: 'main',
      cell: ({ tokenId }) => <Copyable text={tokenId} shown={shortened(tokenId)} what="the id of the token" />,
    },
    { name: 'State', cell: (token) => <TokenState token={token} /> },
    { name: 'Created', cell: ({ creationDate }) => <When at={millisecondsOf(creationDate)} /> },
    { name: 'Ends', cell: ({ expirationDate }) => <When at={millisecondsOf(expirationDate)} /> },
    actionColumn<PersonalAccessToken>('Revoke', {
      isShown: mayChange,
      labelOf: ({ tokenId }) => `Revoke token ${shortened(tokenId)}`,
      onClick: ({ tokenId }) => setOpen({ kind: 'revoke', tokenId }),
    }),
  ]
  return (
    <CardSection
      id="tokens"
      title="Personal access tokens"
      action={mayChange && { verb: 'Create token', onClick: () => setOpen({ kind: 'create' }) }}
    >
      <DataTable
        caption="Personal access tokens"
        columns={columns}
        rows={tokens}
        keyOf={({ tokenId }) => tokenId}
        empty="No personal access tokens. They work for Keyturn's own API only."
      />
      {open?.kind === 'create' && (
        <CreateDialog userId={userId} onClose={close} onCreated={(token) => setOpen({ kind: 'shown', token })} />
      )}
      {open?.kind === 'shown' && (
        <ShownOnce title="The new token" secret={open.token} what="personal access token" onClose={close} />
      )}
      {open?.kind === 'revoke' && (
        <ConfirmDialog
          title={`Revoke token ${shortened(open.tokenId)}?`}
          verb="Revoke"
          isDangerous
          onClose={close}
          change={() => serviceUsers.revokePersonalAccessToken({ userId, tokenId: open.tokenId })}
        >
          <p>Calls with it are refused at once, on every replica.</p>
        </ConfirmDialog>
      )}
    </CardSection>
  )
}

const SOON = 14 * 86_400_000

function TokenState({ token }: { readonly token: PersonalAccessToken }) {
  const at = now.value
  const ends = millisecondsOf(token.expirationDate) ?? at
  if (ends <= at) return <span class="badge">expired</span>
  if (ends - at < SOON) return <span class="badge is-warning">ends {formatDistance(ends, at)}</span>
  return <span class="badge is-success">live</span>
}

interface CreateDialogProps {
  readonly userId: string
  readonly onClose: () => void
  readonly onCreated: (token: string) => void
}

function CreateDialog({ userId, onClose, onCreated }: CreateDialogProps) {
  const [days, setDays] = useState(90)
  return (
    <ConfirmDialog
      title="Create a personal access token"
      verb="Create token"
      onClose={onClose}
      change={() => serviceUsers.createPersonalAccessToken({ userId, ...expirationIn(days) })}
      onDone={({ token }) => onCreated(token)}
    >
      <p>
        A bearer token for Keyturn's API, with the rights of this user, until it ends or is revoked. It is shown once.
      </p>
      <ExpiryField days={days} canBeNever={false} onChange={setDays} />
    </ConfirmDialog>
  )
}
