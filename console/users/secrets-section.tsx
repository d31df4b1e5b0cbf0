/**
 * The client secrets of a user, with their last use, and the way to rotate one without an outage.
 */
import { useState } from 'preact/hooks'
import type { ClientSecret, ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { serviceUsers } from '../api/clients.ts'
import { millisecondsOf, shortened } from '../format/text.ts'
import { now } from '../live/clock.ts'
import { tokenLifetime } from '../live/instance.ts'
import { ConfirmDialog, DialogButton } from '../parts/confirm-dialog.tsx'
import { Copyable, Id } from '../parts/copyable.tsx'
import { type Column, DataTable, RowButton } from '../parts/data-table.tsx'
import { Closing } from '../parts/dialog.tsx'
import { useDraft } from '../parts/draft.ts'
import { ExpiryField, expirationIn } from '../parts/fields.tsx'
import { Badge, Notice } from '../parts/notice.tsx'
import { CardSection } from '../parts/page.tsx'
import { ShownOnce } from '../parts/shown-once.tsx'
import { Distance, When } from '../parts/when.tsx'
import { mayWithUser } from '../session/rights.ts'
import { SecretRotation, stateOfSecret } from './secret-rotation.tsx'

interface SecretsSectionProps {
  readonly user: ServiceUser
  readonly secrets: readonly ClientSecret[]
}

export function SecretsSection({ user, secrets }: SecretsSectionProps) {
  const [ending, setEnding] = useState<ClientSecret>()
  const mayChange = mayWithUser('iam.user.secret.write', user)
  const isLive = (secret: ClientSecret) => stateOfSecret(secret, now.value).isLive
  const columns = mayChange ? [...COLUMNS, actions(isLive, setEnding)] : COLUMNS
  return (
    <CardSection
      id="secrets"
      title="Client secrets"
      actions={mayChange && <DialogButton verb="Generate secret" dialog={<GenerateDialog user={user} />} />}
    >
      <DataTable
        caption="Client secrets"
        columns={columns}
        rows={secrets}
        keyOf={({ secretId }) => secretId}
        empty="No secrets. Generate one, so that the user can request tokens."
        classOf={(secret) => (isLive(secret) ? '' : 'is-over')}
      />
      <SecretRotation secrets={secrets} onDeactivate={mayChange ? setEnding : undefined} />
      {ending !== undefined && (
        <Closing.Provider value={() => setEnding(undefined)}>
          <EndDialog user={user} secret={ending} />
        </Closing.Provider>
      )}
    </CardSection>
  )
}

const COLUMNS: readonly Column<ClientSecret>[] = [
  { name: 'Secret', kind: 'main', cell: ({ secretId }) => <Id id={secretId} what="the id of the secret" /> },
  { name: 'State', cell: (secret) => <Badge {...stateOfSecret(secret, now.value)} /> },
  { name: 'Last use', cell: ({ lastUseDate }) => <Distance at={lastUseDate} otherwise="never" /> },
  { name: 'Created', cell: ({ creationDate }) => <When at={creationDate} /> },
  { name: 'Ends', cell: ({ expirationDate }) => <When at={expirationDate} otherwise="never" /> },
]

/** A live secret is deactivated, and one that works no more is deleted. */
function actions(
  isLive: (secret: ClientSecret) => boolean,
  onEnd: (secret: ClientSecret) => void,
): Column<ClientSecret> {
  return {
    name: 'Actions',
    kind: 'actions',
    cell: (secret) => {
      const verb = isLive(secret) ? 'Deactivate' : 'Delete'
      const label = `${verb} secret ${shortened(secret.secretId)}`
      return <RowButton verb={verb} label={label} onClick={() => onEnd(secret)} />
    },
  }
}

function GenerateDialog({ user: { userId, name, clientId } }: { readonly user: ServiceUser }) {
  const { values, field } = useDraft({ days: 90 })
  const [generated, setGenerated] = useState<string>()
  if (generated !== undefined) {
    return (
      <ShownOnce title="The new secret" secret={generated} what="client secret">
        <div class="field">
          <span class="label">The client ID</span>
          <Copyable text={clientId} what="the client ID" />
        </div>
      </ShownOnce>
    )
  }
  return (
    <ConfirmDialog
      title="Generate a client secret"
      verb="Generate"
      change={() => serviceUsers.generateClientSecret({ userId, ...expirationIn(values.days) })}
      onDone={({ clientSecret }) => setGenerated(clientSecret)}
    >
      <p>The secrets that {name} has go on working. The new one is shown once.</p>
      <ExpiryField {...field('days')} />
    </ConfirmDialog>
  )
}

function EndDialog({ user: { userId }, secret }: { readonly user: ServiceUser; readonly secret: ClientSecret }) {
  // As it was when the dialog was opened: what it asks does not change while it is read.
  const [isLive] = useState(() => stateOfSecret(secret, now.value).isLive)
  const { secretId } = secret
  const used = millisecondsOf(secret.lastUseDate)
  if (!isLive) {
    return (
      <ConfirmDialog
        title={`Delete secret ${shortened(secretId)}?`}
        verb="Delete"
        isDangerous
        change={() => serviceUsers.deleteClientSecret({ userId, secretId })}
      >
        <p>It works no more. Deleting it only removes it from the list; the audit trail keeps its events.</p>
      </ConfirmDialog>
    )
  }
  return (
    <ConfirmDialog
      title={`Deactivate secret ${shortened(secretId)}?`}
      verb="Deactivate for good"
      isDangerous
      change={() => serviceUsers.deactivateClientSecret({ userId, secretId })}
    >
      <p>
        No token is issued for it any more. Tokens that it got before are valid until they expire. This cannot be
        undone.
      </p>
      {used === undefined && <p>It has never been used.</p>}
      {used !== undefined && now.value - used >= tokenLifetime.value && (
        <p>
          It was last used <Distance at={used} />.
        </p>
      )}
      {used !== undefined && now.value - used < tokenLifetime.value && (
        <Notice kind="warning">
          <strong>
            It was last used <Distance at={used} />,
          </strong>{' '}
          which is less than a token lives: an instance of the service may still need it.
        </Notice>
      )}
    </ConfirmDialog>
  )
}
