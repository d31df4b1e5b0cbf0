/**
 * The client secrets of a user, with their last use, and how to rotate one without an outage, as steps that see how far it is.
 */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { ClientSecret, ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { serviceUsers } from '../api/clients.ts'
import { formatDistance, formatLength, formatRoughly, millisecondsOf, shortened } from '../format/text.ts'
import { now, tokenLifetime } from '../live/instance.ts'
import { Icon } from '../parts/buttons.tsx'
import { type Column, DataTable, removal } from '../parts/data-table.tsx'
import { ConfirmDialog, DialogButton, ShownOnce } from '../parts/dialogs.tsx'
import { ExpiryField, expirationIn, useDraft } from '../parts/fields.tsx'
import { Badge, CardSection, Notice, type State } from '../parts/page.tsx'
import { Copyable, Distance, Id, When } from '../parts/values.tsx'
import { mayWithUser } from '../session/session.ts'

interface SecretsSectionProps {
  readonly user: ServiceUser
  readonly secrets: readonly ClientSecret[]
}

export function SecretsSection({ user, secrets }: SecretsSectionProps) {
  const mayChange = mayWithUser('iam.user.secret.write', user)
  const isLive = (secret: ClientSecret) => stateOfSecret(secret, now.value).isLive
  /** A live secret is deactivated, and one that works no more is deleted. */
  const endOf = (secret: ClientSecret) => {
    const { secretId } = secret
    if (!isLive(secret)) {
      return removal({
        verb: 'Delete',
        label: `Delete secret ${shortened(secretId)}`,
        consequence: 'It works no more. Deleting it only removes it from the list; the audit trail keeps its events.',
        remove: () => serviceUsers.deleteClientSecret({ userId: user.userId, secretId }),
      })
    }
    const dialog = <DeactivateDialog user={user} secret={secret} />
    return { verb: 'Deactivate', label: `Deactivate secret ${shortened(secretId)}`, dialog }
  }
  return (
    <CardSection
      title="Client secrets"
      actions={mayChange && <DialogButton text="Generate secret" dialog={<GenerateDialog user={user} />} />}
    >
      <DataTable
        caption="Client secrets"
        columns={COLUMNS}
        rows={secrets}
        keyOf={({ secretId }) => secretId}
        empty="No secrets. Generate one, so that the user can request tokens."
        actionsOf={mayChange && ((secret) => [endOf(secret)])}
        classOf={(secret) => (isLive(secret) ? '' : 'is-over')}
      />
      <SecretRotation user={user} secrets={secrets} mayChange={mayChange} />
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

interface DeactivateDialogProps {
  readonly user: ServiceUser
  readonly secret: ClientSecret
}

function DeactivateDialog({ user: { userId }, secret: { secretId, lastUseDate } }: DeactivateDialogProps) {
  const used = millisecondsOf(lastUseDate)
  const isInUse = used !== undefined && now.value - used < tokenLifetime.value
  const use = used === undefined ? 'It has never been used' : `It was last used ${formatDistance(used, now.value)}`
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
      {isInUse ? (
        <Notice kind="warning">
          <strong>{use},</strong> which is less than a token lives: an instance of the service may still need it.
        </Notice>
      ) : (
        <p>{use}.</p>
      )}
    </ConfirmDialog>
  )
}

const DAY = 86_400_000
/** A secret that ends within this time should be rotated. */
const SOON = 14 * DAY
/** A secret that has not been used for this time is likely to be superfluous. */
const UNUSED = 30 * DAY

/** The state of a secret. */
function stateOfSecret(secret: ClientSecret, now: number): State & { readonly isLive: boolean } {
  const ends = millisecondsOf(secret.expirationDate)
  if (secret.deactivationDate !== undefined) return { isLive: false, text: 'deactivated', tone: '' }
  if (ends !== undefined && ends <= now) return { isLive: false, text: 'expired', tone: '' }
  if (ends !== undefined && ends - now < SOON)
    return { isLive: true, text: `ends ${formatDistance(ends, now)}`, tone: 'warning' }
  const since = millisecondsOf(secret.lastUseDate ?? secret.creationDate) ?? now
  if (now - since >= UNUSED) return { isLive: true, text: `unused for ${formatRoughly(now - since)}`, tone: 'warning' }
  return { isLive: true, text: 'live', tone: 'success' }
}

interface SecretRotationProps extends SecretsSectionProps {
  readonly mayChange: boolean
}

/** @param props The secrets are oldest first. */
function SecretRotation({ user, secrets, mayChange }: SecretRotationProps) {
  const at = now.value
  const token = tokenLifetime.value
  const live = secrets.filter((secret) => stateOfSecret(secret, at).isLive)
  const [old] = live
  const fresh = live.at(-1)
  if (old === undefined || fresh === undefined) return null
  const isGenerated = old !== fresh
  const [oldUse, freshUse] = [old, fresh].map(({ lastUseDate }) => millisecondsOf(lastUseDate))
  const isSwitched = isGenerated && freshUse !== undefined
  const isUnused = isSwitched && (oldUse === undefined || at - oldUse > token)
  const oldName = shortened(old.secretId)
  /** What is seen of the steps, once there is a second secret. */
  const facts = {
    generated: `${shortened(fresh.secretId)} is the new one`,
    switched:
      freshUse === undefined
        ? 'the new one has not been used yet'
        : `the new one is in use, last ${formatDistance(freshUse, at)}`,
    unused: `${oldName} ${oldUse === undefined ? 'has never been used' : `was last used ${formatDistance(oldUse, at)}`}`,
  }
  return (
    <details class="procedure" open={isGenerated}>
      <summary>Rotate a secret without an outage</summary>
      <ol class="procedure-steps">
        <Step isDone={isGenerated} fact={isGenerated && facts.generated}>
          Generate a second secret. Both work.
        </Step>
        <Step isDone={isSwitched} fact={isGenerated && facts.switched}>
          Give the new one to every instance of the service.
        </Step>
        <Step isDone={isUnused} fact={isGenerated && facts.unused}>
          Wait until the old one has not been used for longer than a token lives ({formatLength(token)}).
        </Step>
        <Step isDone={false}>
          Deactivate the old one.
          {isGenerated && mayChange && (
            <DialogButton
              text={`Deactivate ${oldName}`}
              kind={isUnused ? 'primary' : undefined}
              isSmall
              dialog={<DeactivateDialog user={user} secret={old} />}
            />
          )}
        </Step>
      </ol>
    </details>
  )
}

interface StepProps {
  readonly isDone: boolean
  /** How far it is. */
  readonly fact?: string | false
  readonly children: ComponentChildren
}

function Step({ isDone, fact = false, children }: StepProps) {
  return (
    <li class={isDone ? 'is-done' : ''}>
      <span class="step-mark">{isDone && <Icon name="check" />}</span>
      <div>
        {isDone && <span class="unseen">Done: </span>}
        {children}
        {fact !== false && <p class="quiet">{fact}</p>}
      </div>
    </li>
  )
}
