/**
 * What can be done with a webhook, each with what it does to its receiver before it is done.
 */
import { useState } from 'preact/hooks'
import { type Webhook, WebhookState } from '../../gen/iam/event/v2/webhook_pb.js'
import { webhookService } from '../api/clients.ts'
import { goTo } from '../navigation/route.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { DurationField } from '../parts/duration-field.tsx'
import { ShownOnce } from '../parts/shown-once.tsx'
import { changedPaths, draftOf, NEW_WEBHOOK, requestOf, WebhookForm } from './webhook-form.tsx'

/** Creates a webhook, shows its secret, and goes to it. */
export function CreateWebhookDialog({ onClose }: { readonly onClose: () => void }) {
  const [draft, setDraft] = useState(NEW_WEBHOOK)
  const [created, setCreated] = useState<{ readonly secret: string; readonly webhookId: string }>()
  if (created !== undefined) {
    const { secret, webhookId } = created
    return (
      <Secret
        secret={secret}
        onClose={() => {
          onClose()
          goTo(['webhooks', webhookId])
        }}
      />
    )
  }
  return (
    <ConfirmDialog
      title="Create a webhook"
      verb="Create webhook"
      isIncomplete={draft.name === '' || draft.url === ''}
      onClose={onClose}
      change={() => webhookService.createWebhook(requestOf(draft))}
      onDone={({ secret, webhook }) => setCreated({ secret, webhookId: webhook?.webhookId ?? '' })}
    >
      <p>Events of the audit trail are sent to it from then on, each signed with a secret that is shown once.</p>
      <WebhookForm draft={draft} onChange={(values) => setDraft((before) => ({ ...before, ...values }))} />
    </ConfirmDialog>
  )
}

function Secret({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  return (
    <ShownOnce title="The new signing secret" secret={secret} what="signing secret" onClose={onClose}>
      <p>The receiver verifies the signature of each event with it (Standard Webhooks).</p>
    </ShownOnce>
  )
}

interface WebhookDialogProps {
  readonly webhook: Webhook
  readonly onClose: () => void
}

export function ChangeWebhookDialog({ webhook, onClose }: WebhookDialogProps) {
  const { webhookId } = webhook
  // As it was when the form was filled from it, so that what changes elsewhere meanwhile is not taken for a change of the form.
  const [before] = useState(() => draftOf(webhook))
  const [draft, setDraft] = useState(before)
  const paths = changedPaths(before, draft)
  return (
    <ConfirmDialog
      title="Change the webhook"
      verb="Save"
      isIncomplete={paths.length === 0}
      onClose={onClose}
      change={() => webhookService.updateWebhook({ webhookId, ...requestOf(draft), updateMask: { paths } })}
    >
      <WebhookForm draft={draft} onChange={(values) => setDraft((current) => ({ ...current, ...values }))} />
      <p class="hint">Events that wait are sent as it is then, the first of them at once.</p>
    </ConfirmDialog>
  )
}

const DAY = 86_400

export function RotateSecretDialog({ webhook: { webhookId }, onClose }: WebhookDialogProps) {
  const [overlapSeconds, setOverlapSeconds] = useState(DAY)
  const [secret, setSecret] = useState<string>()
  if (secret !== undefined) return <Secret secret={secret} onClose={onClose} />
  return (
    <ConfirmDialog
      title="Rotate the signing secret?"
      verb="Rotate"
      isIncomplete={!Number.isFinite(overlapSeconds)}
      onClose={onClose}
      change={() => webhookService.rotateWebhookSecret({ webhookId, overlapSeconds })}
      onDone={(response) => setSecret(response.secret)}
    >
      <p>
        Events have two signatures for a time, with the new secret and with the one before. The new one is shown once.
      </p>
      <DurationField
        label="The secret before signs for"
        hint="At most 7 days. 0: it ends at once, and with it any that is older."
        seconds={overlapSeconds}
        onChange={setOverlapSeconds}
      />
    </ConfirmDialog>
  )
}

export function SwitchWebhookDialog({ webhook: { webhookId, name, state }, onClose }: WebhookDialogProps) {
  const isEnabled = state === WebhookState.ENABLED
  const verb = isEnabled ? 'Disable' : 'Enable'
  return (
    <ConfirmDialog
      title={`${verb} ${name}?`}
      verb={verb}
      isDangerous={isEnabled}
      onClose={onClose}
      change={() =>
        webhookService.updateWebhook({ webhookId, enabled: !isEnabled, updateMask: { paths: ['enabled'] } })
      }
    >
      <p>
        {isEnabled
          ? 'Events wait until it is enabled again, as long as the audit trail keeps them.'
          : 'Events that wait are sent, oldest first.'}
      </p>
    </ConfirmDialog>
  )
}

export function DeleteWebhookDialog({ webhook: { webhookId, name }, onClose }: WebhookDialogProps) {
  return (
    <ConfirmDialog
      title={`Delete ${name}?`}
      verb="Delete for good"
      isDangerous
      onClose={onClose}
      change={async () => {
        await webhookService.deleteWebhook({ webhookId })
        goTo(['webhooks'])
      }}
    >
      <p>Events that wait for it are not sent any more. They stay in the audit trail.</p>
    </ConfirmDialog>
  )
}
