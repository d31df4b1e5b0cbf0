/**
 * What can be done with a webhook, each with what it does to its receiver before it is done.
 */
import { useState } from 'preact/hooks'
import { type Webhook, WebhookState } from '../../gen/iam/event/v2/webhook_pb.js'
import { webhookService } from '../api/clients.ts'
import { goTo } from '../navigation/route.ts'
import { ConfirmButton, ConfirmDialog, DeleteButton, ShownOnce } from '../parts/dialogs.tsx'
import { type Draft, DurationField, LongTextField, TextField, useDraft } from '../parts/fields.tsx'

/** Creates a webhook, shows its secret, and goes to it. */
export function CreateWebhookDialog() {
  const draft = useDraft(NEW_WEBHOOK)
  const [created, setCreated] = useState<{ readonly secret: string; readonly webhookId: string }>()
  if (created !== undefined) {
    return <Secret secret={created.secret} onClose={() => goTo(['webhooks', created.webhookId])} />
  }
  return (
    <ConfirmDialog
      title="Create a webhook"
      verb="Create webhook"
      change={() => webhookService.createWebhook(requestOf(draft.values))}
      onDone={({ secret, webhook }) => setCreated({ secret, webhookId: webhook?.webhookId ?? '' })}
    >
      <p>Events of the audit trail are sent to it from then on, each signed with a secret that is shown once.</p>
      <WebhookForm {...draft} />
    </ConfirmDialog>
  )
}

function Secret(props: { readonly secret: string; readonly onClose?: () => void }) {
  return (
    <ShownOnce title="The new signing secret" what="signing secret" {...props}>
      <p>The receiver verifies the signature of each event with it (Standard Webhooks).</p>
    </ShownOnce>
  )
}

interface OfWebhook {
  readonly webhook: Webhook
}

export function ChangeWebhookDialog({ webhook }: OfWebhook) {
  const { webhookId } = webhook
  const draft = useDraft(draftOf(webhook))
  const { values, paths } = draft
  return (
    <ConfirmDialog
      title="Change the webhook"
      verb="Save"
      isIncomplete={paths.length === 0}
      change={() => webhookService.updateWebhook({ webhookId, ...requestOf(values), updateMask: { paths } })}
    >
      <WebhookForm {...draft} />
      <p class="hint">Events that wait are sent as it is then, the first of them at once.</p>
    </ConfirmDialog>
  )
}

/** A webhook as it is in a form: lists as lines. */
type WebhookDraft = typeof NEW_WEBHOOK

const NEW_WEBHOOK = { name: '', url: '', eventTypes: '', resources: '', caCertificates: '' }

function draftOf({ name, url, eventTypes, resources, caCertificates }: Webhook): WebhookDraft {
  return { name, url, eventTypes: eventTypes.join('\n'), resources: resources.join('\n'), caCertificates }
}

function requestOf({ name, url, eventTypes, resources, caCertificates }: WebhookDraft) {
  const wordsOf = (text: string) => text.split(/\s+/).filter(Boolean)
  return { name, url, eventTypes: wordsOf(eventTypes), resources: wordsOf(resources), caCertificates }
}

const LONG_TEXTS = [
  {
    name: 'eventTypes',
    label: 'Types of events',
    hint: 'One a line, for example keyturn.rotation.* or keyturn.iam.user.v2.ServiceUserService.DisableServiceUser. Empty: all.',
  },
  {
    name: 'resources',
    label: 'Resources',
    hint: 'One a line, each with its parts, for example projects/PROJECT_ID. Empty: all.',
  },
  {
    name: 'caCertificates',
    label: 'Certificates of authorities',
    hint: 'PEM. Trusted instead of the usual ones. Empty: those.',
  },
] as const

function WebhookForm({ field }: Draft<WebhookDraft>) {
  return (
    <>
      <TextField
        label="Name"
        hint="Small letters, digits and hyphens."
        required
        spellcheck={false}
        {...field('name')}
      />
      <TextField
        label="URL"
        hint="The https address of the receiver."
        type="url"
        required
        placeholder="https://"
        {...field('url')}
      />
      {LONG_TEXTS.map(({ name, ...words }) => (
        <LongTextField key={name} {...words} rows={2} {...field(name)} />
      ))}
    </>
  )
}

const DAY = 86_400

export function RotateSecretDialog({ webhook: { webhookId } }: OfWebhook) {
  const [overlapSeconds, setOverlapSeconds] = useState(DAY)
  const [secret, setSecret] = useState<string>()
  if (secret !== undefined) return <Secret secret={secret} />
  return (
    <ConfirmDialog
      title="Rotate the signing secret?"
      verb="Rotate"
      isIncomplete={!Number.isFinite(overlapSeconds)}
      change={() => webhookService.rotateWebhookSecret({ webhookId, overlapSeconds })}
      onDone={(response) => setSecret(response.secret)}
    >
      <p>
        Events have two signatures for a time, with the new secret and with the one before. The new one is shown once.
      </p>
      <DurationField
        label="The secret before signs for"
        hint="At most 7 days. 0: it ends at once, and with it any that is older."
        value={overlapSeconds}
        onChange={setOverlapSeconds}
      />
    </ConfirmDialog>
  )
}

export function SwitchWebhookButton({ webhook: { webhookId, name, state } }: OfWebhook) {
  const isEnabled = state === WebhookState.ENABLED
  const verb = isEnabled ? 'Disable' : 'Enable'
  const changed = { enabled: !isEnabled, updateMask: { paths: ['enabled'] } }
  return (
    <ConfirmButton
      title={`${verb} ${name}?`}
      verb={verb}
      isDangerous={isEnabled}
      change={() => webhookService.updateWebhook({ webhookId, ...changed })}
    >
      <p>
        {isEnabled
          ? 'Events wait until it is enabled again, as long as the audit trail keeps them.'
          : 'Events that wait are sent, oldest first.'}
      </p>
    </ConfirmButton>
  )
}

export function DeleteWebhookButton({ webhook: { webhookId, name } }: OfWebhook) {
  return (
    <DeleteButton title={`Delete ${name}?`} place="webhooks" remove={() => webhookService.deleteWebhook({ webhookId })}>
      Events that wait for it are not sent any more. They stay in the audit trail.
    </DeleteButton>
  )
}
