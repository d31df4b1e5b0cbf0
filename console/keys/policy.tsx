/**
 * The rotation policy, what it does next, and the form that changes it. The API says what would follow, and what it would refuse, while it is
 * being written.
 */

import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { useContext, useEffect, useState } from 'preact/hooks'
import {
  type RotationPolicy,
  RotationPolicySchema,
  type RotationStep,
  RotationStepKind,
} from '../../gen/iam/webkey/v2/rotation_pb.js'
import type { WebKey } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { webKeys } from '../api/clients.ts'
import { type Failure, failureOf } from '../api/failure.ts'
import { formatLength, lengthOf, millisecondsOf, shortened } from '../format/text.ts'
import { now } from '../live/instance.ts'
import { Button } from '../parts/buttons.tsx'
import { Closing, ConfirmDialog } from '../parts/dialogs.tsx'
import { CheckField, DurationField, useDraft } from '../parts/fields.tsx'
import { CardSection, Fact, FailureNotice, sentence } from '../parts/page.tsx'
import { Distance, When } from '../parts/values.tsx'
import { KEY_KINDS, KindChoice, kindOf } from './key-kind.tsx'
import { type Lifetimes, livesOf } from './key-life.ts'
import { Timeline } from './timeline.tsx'

/** The effect of a step. */
const EFFECTS: Readonly<Record<RotationStepKind, string>> = {
  [RotationStepKind.UNSPECIFIED]: 'unknown',
  [RotationStepKind.CREATE]: 'is created and published',
  [RotationStepKind.ACTIVATE]: 'signs all new tokens',
  [RotationStepKind.DESTROY_PRIVATE_KEY]: 'can no longer be rolled back to: its private key is destroyed',
  [RotationStepKind.DELETE]: 'is deleted',
}

interface PolicyCardProps {
  readonly policy: RotationPolicy
  readonly steps: readonly RotationStep[]
  /** Undefined: it may not be changed. */
  readonly onChange: (() => void) | undefined
}

export function PolicyCard({ policy, steps, onChange }: PolicyCardProps) {
  return (
    <CardSection
      id="policy"
      title="Rotation"
      actions={onChange !== undefined && <Button text="Change policy" onClick={onChange} />}
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

interface PolicyDialogProps {
  readonly policy: RotationPolicy
  readonly keys: readonly WebKey[]
  readonly lifetimes: Lifetimes
  readonly onDone: (outcome: string) => void
}

const DURATIONS = [
  { name: 'rotationInterval', label: 'A key signs for', hint: 'At least every 90 days is recommended.' },
  { name: 'publishAhead', label: 'Published before it signs', hint: 'So that verifiers know it long before.' },
  { name: 'rollbackWindow', label: 'Rollback possible for', hint: 'Then its private key is destroyed.' },
  { name: 'retention', label: 'Kept after it has signed', hint: 'Until every token that it signed has expired.' },
] as const

export function PolicyDialog({ policy, keys, lifetimes, onDone }: PolicyDialogProps) {
  const close = useContext(Closing)
  const { values, paths, field } = useDraft(draftOf(policy))
  const change: Change = { policy: policyOf(values), updateMask: { paths } }
  const { steps, warnings, failure } = usePreview(change)
  return (
    <ConfirmDialog
      title="Rotation policy"
      verb="Change policy"
      isWide
      isIncomplete={failure !== undefined || paths.length === 0}
      change={() => webKeys.updateRotationPolicy(change)}
      onDone={({ warnings: said }) => {
        close()
        onDone(['The policy is changed.', ...said.map(sentence)].join(' '))
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
              lives={livesOf(keys, steps, { lifetimes, now: now.value })}
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

/** The policy as it is in the form: lengths in seconds, and the id of the kind of key. */
function draftOf({ enabled, keepStandby, config, ...lengths }: RotationPolicy) {
  return {
    enabled,
    keepStandby,
    config: kindOf(config)?.id ?? '',
    rotationInterval: lengthOf(lengths.rotationInterval) / 1000,
    publishAhead: lengthOf(lengths.publishAhead) / 1000,
    retention: lengthOf(lengths.retention) / 1000,
    rollbackWindow: lengthOf(lengths.rollbackWindow) / 1000,
  }
}

function policyOf(draft: ReturnType<typeof draftOf>): Change['policy'] {
  const seconds = (value: number) => ({ seconds: BigInt(Number.isFinite(value) ? value : 0) })
  const kind = KEY_KINDS.find(({ id }) => id === draft.config)
  return {
    enabled: draft.enabled,
    keepStandby: draft.keepStandby,
    rotationInterval: seconds(draft.rotationInterval),
    publishAhead: seconds(draft.publishAhead),
    retention: seconds(draft.retention),
    rollbackWindow: seconds(draft.rollbackWindow),
    ...(kind === undefined ? {} : { config: kind.config }),
  }
}

/** A change of the policy. */
interface Change {
  readonly policy: MessageInitShape<typeof RotationPolicySchema>
  readonly updateMask: { readonly paths: string[] }
}

interface Preview {
  readonly steps: readonly RotationStep[]
  readonly warnings: readonly string[]
  readonly failure: Failure | undefined
}

/** How long writing must pause before the API is asked, in milliseconds. */
const PAUSE = 200
const FORESEEN = 30

/** The steps that would follow from a change. */
function usePreview(change: Change): Preview {
  const [preview, setPreview] = useState<Preview>({ steps: [], warnings: [], failure: undefined })
  const text = JSON.stringify(change, (_, value) => (typeof value === 'bigint' ? String(value) : value))
  // The text stands for the change.
  useEffect(() => {
    const abort = new AbortController()
    const { signal } = abort
    const timer = setTimeout(async () => {
      const { policy, updateMask } = change
      const isChange = updateMask.paths.length > 0
      const request = {
        count: FORESEEN,
        ...(isChange ? { policy: create(RotationPolicySchema, policy), updateMask } : {}),
      }
      try {
        const { steps, warnings } = await webKeys.getRotationSchedule(request, { signal })
        setPreview({ steps, warnings, failure: undefined })
      } catch (error) {
        if (!signal.aborted) setPreview({ steps: [], warnings: [], failure: failureOf(error) })
      }
    }, PAUSE)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [text])
  return preview
}
