/**
 * The fields of a webhook.
 */
import type { Webhook } from '../../gen/iam/event/v2/webhook_pb.js'
import { Field, TextField } from '../parts/field.tsx'

/** A webhook as it is in the form. */
export interface WebhookDraft {
  readonly name: string
  readonly url: string
  /** In words, as resources. */
  readonly eventTypes: string
  readonly resources: string
  readonly caCertificates: string
}

/** The fields of the API by those of the form. */
const PATHS: Readonly<Record<keyof WebhookDraft, string>> = {
  name: 'name',
  url: 'url',
  eventTypes: 'event_types',
  resources: 'resources',
  caCertificates: 'ca_certificates',
}

export const NEW_WEBHOOK: WebhookDraft = { name: '', url: '', eventTypes: '', resources: '', caCertificates: '' }

/** A webhook in the form. */
export function draftOf({ name, url, eventTypes, resources, caCertificates }: Webhook): WebhookDraft {
  return { name, url, eventTypes: eventTypes.join('\n'), resources: resources.join('\n'), caCertificates }
}

/** The request that the form makes. */
export function requestOf({ name, url, eventTypes, resources, caCertificates }: WebhookDraft) {
  return {
    name: name.trim(),
    url: url.trim(),
    eventTypes: wordsOf(eventTypes),
    resources: wordsOf(resources),
    caCertificates,
  }
}

/** What was changed in the form, for an update mask. */
export function changedPaths(before: WebhookDraft, draft: WebhookDraft): string[] {
  const names = Object.keys(PATHS) as (keyof WebhookDraft)[]
  return names.filter((name) => draft[name] !== before[name]).map((name) => PATHS[name])
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '')
}

interface WebhookFormProps {
  readonly draft: WebhookDraft
  readonly onChange: (values: Partial<WebhookDraft>) => void
}

const WORDS = [
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

export function WebhookForm({ draft, onChange }: WebhookFormProps) {
  return (
    <>
      <TextField
        label="Name"
        hint="Small letters, digits and hyphens."
        required
        spellcheck={false}
        value={draft.name}
        onChange={(value) => onChange({ name: value })}
      />
      <Field label="URL" hint="The https address of the receiver.">
        {(id) => (
          <input
            id={id}
            type="url"
            required
            autocomplete="off"
            placeholder="https://"
            value={draft.url}
            onInput={({ currentTarget }) => onChange({ url: currentTarget.value })}
          />
        )}
      </Field>
      {WORDS.map(({ name, label, hint }) => (
        <Field key={name} label={label} hint={hint}>
          {(id) => (
            <textarea
              id={id}
              rows={2}
              spellcheck={false}
              value={draft[name]}
              onInput={({ currentTarget }) => onChange({ [name]: currentTarget.value })}
            />
          )}
        </Field>
      ))}
    </>
  )
}
