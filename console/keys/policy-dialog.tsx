/**
 * Changes the rotation policy. The API says what would follow, and what it would refuse, while it is being written.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { useContext, useEffect, useState } from 'preact/hooks'
import { type RotationPolicy, RotationPolicySchema, type RotationStep } from '../../gen/iam/webkey/v2/rotation_pb.js'
import type { WebKey } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { webKeys } from '../api/clients.ts'
import { type Failure, failureOf } from '../api/failure.ts'
import { lengthOf } from '../format/text.ts'
import { now } from '../live/clock.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { Closing } from '../parts/dialog.tsx'
import { useDraft } from '../parts/draft.ts'
import { CheckField, DurationField } from '../parts/fields.tsx'
import { FailureNotice, sentence } from '../parts/notice.tsx'
import { KEY_KINDS, KindChoice, kindOf } from './key-kind.tsx'
import { type Lifetimes, livesOf } from './key-life.ts'
import { Steps } from './policy-card.tsx'
import { Timeline } from './timeline.tsx'

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
const STEPS = 30

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
        count: STEPS,
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
