/**
 * The rotation policy, what it does next, and the form that changes it. The API says what would follow, and what it would refuse, while it is
 * being written.
 */
import { create } from '@bufbuild/protobuf'
import { durationFromMs } from '@bufbuild/protobuf/wkt'
import type { ReadonlySignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import {
  type RotationPolicy,
  RotationPolicySchema,
  type RotationStep,
  RotationStepKind,
} from '../../gen/iam/webkey/v2/rotation_pb.js'
import { webKeys } from '../api/clients.ts'
import { formatLength, lengthOf, millisecondsOf, shortened } from '../format/text.ts'
import { now } from '../live/instance.ts'
import { useLoaded } from '../live/loaded.ts'
import { ConfirmDialog, DialogButton } from '../parts/dialogs.tsx'
import { CheckField, DurationField, useDraft } from '../parts/fields.tsx'
import { CardSection, Fact, FailureNotice, sentence, usePage } from '../parts/page.tsx'
import { Distance, When } from '../parts/values.tsx'
import { may } from '../session/session.ts'
import { KEY_KINDS, KindChoice, kindOf } from './key-kind.tsx'
import { type KeyView, livesOf } from './key-life.ts'
import { Timeline } from './timeline.tsx'

/** The effect of a step. */
const EFFECTS: Readonly<Record<RotationStepKind, string>> = {
  [RotationStepKind.UNSPECIFIED]: 'unknown',
  [RotationStepKind.CREATE]: 'is created and published',
  [RotationStepKind.ACTIVATE]: 'signs all new tokens',
  [RotationStepKind.DESTROY_PRIVATE_KEY]: 'can no longer be rolled back to: its private key is destroyed',
  [RotationStepKind.DELETE]: 'is deleted',
}

interface PolicyDialogProps {
  readonly policy: RotationPolicy
  readonly view: ReadonlySignal<KeyView>
}

interface PolicyCardProps extends PolicyDialogProps {
  readonly steps: readonly RotationStep[]
}

export function PolicyCard({ policy, steps, view }: PolicyCardProps) {
  return (
    <CardSection
      title="Rotation"
      actions={
        may('iam.web_key.write') && (
          <DialogButton text="Change policy" dialog={<PolicyDialog policy={policy} view={view} />} />
        )
      }
    >
      <div class="two-columns">
        <dl class="facts">
          <Fact name="Rotation">{policy.enabled ? 'by itself' : 'by hand only'}</Fact>
          <Fact name="A key signs for">{formatLength(lengthOf(policy.rotationInterval))}</Fact>
          <Fact name="Published before it signs">{formatLength(lengthOf(policy.publishAhead))}</Fact>
          <Fact name="Standby">{policy.keepStandby ? 'always published' : 'published when it is needed'}</Fact>
          <Fact name="Rollback possible for">{formatLength(lengthOf(policy.rollbackWindow))}</Fact>
          <Fact name="Kept after it has signed">{formatLength(lengthOf(policy.retention))}</Fact>
          <Fact name="Kind of new keys">{kindOf(policy.config)?.name}</Fact>
        </dl>
        <div>
          <h3>What happens next</h3>
          <Steps steps={steps.slice(0, 5)} />
        </div>
      </div>
    </CardSection>
  )
}

/** Steps of the rotation as a list. */
function Steps({ steps }: { readonly steps: readonly RotationStep[] }) {
  if (steps.length === 0) {
    return <p class="quiet">Nothing happens by itself: rotation is off, or there is no room for another key.</p>
  }
  return (
    <ol class="steps">
      {steps.map(({ kind, keyId, date }, index) => {
        const at = millisecondsOf(date)
        return (
          <li key={index}>
            <span class="step-date">
              <When at={at} />{' '}
              <span class="quiet">
                <Distance at={at} />
              </span>
            </span>
            <span>
              {keyId === '' ? 'the next key' : <code>{shortened(keyId)}</code>} {EFFECTS[kind]}
            </span>
          </li>
        )
      })}
    </ol>
  )
}

const FORESEEN = 30

/** Between a change of the form and the preview of it, in milliseconds. */
const PAUSE = 200

const DURATIONS = [
  { name: 'rotationInterval', label: 'A key signs for', hint: 'At least every 90 days is recommended.' },
  { name: 'publishAhead', label: 'Published before it signs', hint: 'So that verifiers know it long before.' },
  { name: 'rollbackWindow', label: 'Rollback possible for', hint: 'Then its private key is destroyed.' },
  { name: 'retention', label: 'Kept after it has signed', hint: 'Until every token that it signed has expired.' },
] as const

function PolicyDialog({ policy, view }: PolicyDialogProps) {
  const { published, lifetimes } = view.value
  const { close, say } = usePage()
  const { values, paths, field } = useDraft(draftOf(policy))
  const change = { policy: policyOf(values), updateMask: { paths } }
  const { value, failure } = useLoaded(`schedule ${JSON.stringify(values)}`, async (options) => {
    // Values that are written on within the pause have ended the load: the call is not sent.
    if (paths.length > 0) await new Promise((resolve) => setTimeout(resolve, PAUSE))
    return await webKeys.getRotationSchedule({ count: FORESEEN, ...(paths.length > 0 && change) }, options)
  })
  // Until it is known what follows from what was written last, that before it is shown.
  const shown = useRef(value)
  shown.current = value ?? shown.current
  const { steps = [], warnings = [] } = shown.current ?? {}
  return (
    <ConfirmDialog
      title="Rotation policy"
      verb="Change policy"
      isWide
      isIncomplete={failure !== undefined || paths.length === 0}
      change={() => webKeys.updateRotationPolicy(change)}
      onDone={({ warnings: said }) => {
        close()
        say(['The policy is changed.', ...said.map(sentence)].join(' '))
      }}
    >
      <CheckField {...field('enabled')}>Keys rotate by themselves</CheckField>
      <div class="fields">
        {DURATIONS.map(({ name, ...words }) => (
          <DurationField key={name} {...words} {...field(name)} />
        ))}
      </div>
      <CheckField {...field('keepStandby')}>
        A standby is always published, so that an emergency needs no wait
      </CheckField>
      <KindChoice {...field('config')} warnings={warnings} />
      <section class="preview" aria-label="Preview" aria-live="polite">
        <h3>{paths.length === 0 ? 'As it is' : 'What would follow'}</h3>
        <FailureNotice failure={failure} />
        {failure === undefined && (
          <>
            <Timeline
              lives={livesOf(published, steps, { lifetimes, now: now.value })}
              lifetimes={lifetimes}
              now={now.value}
              scale="even"
            />
            <Steps steps={steps.slice(0, 4)} />
          </>
        )}
      </section>
    </ConfirmDialog>
  )
}

/** The policy as it is in the form: lengths in seconds, and the name of the kind of key. */
function draftOf({ enabled, keepStandby, config, ...policy }: RotationPolicy) {
  return {
    enabled,
    keepStandby,
    config: kindOf(config)?.name ?? '',
    rotationInterval: lengthOf(policy.rotationInterval) / 1000,
    publishAhead: lengthOf(policy.publishAhead) / 1000,
    retention: lengthOf(policy.retention) / 1000,
    rollbackWindow: lengthOf(policy.rollbackWindow) / 1000,
  }
}

function policyOf({ config, ...draft }: ReturnType<typeof draftOf>): RotationPolicy {
  const length = (seconds: number) => durationFromMs((Number.isFinite(seconds) ? seconds : 0) * 1000)
  const kind = KEY_KINDS.find(({ name }) => name === config)
  return create(RotationPolicySchema, {
    ...draft,
    rotationInterval: length(draft.rotationInterval),
    publishAhead: length(draft.publishAhead),
    retention: length(draft.retention),
    rollbackWindow: length(draft.rollbackWindow),
    ...(kind && { config: kind.config }),
  })
}
