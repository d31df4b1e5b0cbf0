/**
 * Changes the rotation policy. The API says what would follow, and what it would refuse, while it is being written.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { useEffect, useState } from 'preact/hooks'
import { type RotationPolicy, RotationPolicySchema, type RotationStep } from '../../gen/iam/webkey/v2/rotation_pb.js'
import type { WebKey } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { webKeys } from '../api/clients.ts'
import { type Failure, failureOf } from '../api/failure.ts'
import { lengthOf } from '../format/moment.ts'
import { now } from '../live/clock.ts'
import { useAction } from '../parts/action.ts'
import { DialogButtons } from '../parts/confirm-dialog.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { DurationField } from '../parts/duration-field.tsx'
import { FailureNotice, sentence } from '../parts/notice.tsx'
import { KEY_KINDS, kindIdOf } from './key-kind.ts'
import { type Lifetimes, livesOf } from './key-life.ts'
import { KindChoice } from './kind-choice.tsx'
import { Steps } from './policy-card.tsx'
import { Timeline } from './timeline.tsx'

interface PolicyDialogProps {
  readonly policy: RotationPolicy
  readonly keys: readonly WebKey[]
  readonly lifetimes: Lifetimes
  readonly onClose: () => void
  readonly onDone: (outcome: string) => void
}

/** The policy as it is in the form. */
interface Draft {
  readonly enabled: boolean
  readonly kindId: string
  readonly rotationInterval: number
  readonly publishAhead: number
  readonly retention: number
  readonly rollbackWindow: number
  readonly keepStandby: boolean
}

const DURATIONS = [
  { name: 'rotationInterval', label: 'A key signs for', hint: 'At least every 90 days is recommended.' },
  { name: 'publishAhead', label: 'Published before it signs', hint: 'So that verifiers know it long before.' },
  { name: 'rollbackWindow', label: 'Rollback possible for', hint: 'Then its private key is destroyed.' },
  { name: 'retention', label: 'Kept after it has signed', hint: 'Until every token that it signed has expired.' },
] as const

export function PolicyDialog({ policy: current, keys, lifetimes, onClose, onDone }: PolicyDialogProps) {
  // As it was when the form was filled from it, so that what changes elsewhere meanwhile is not taken for a change of the form.
  const [policy] = useState(current)
  const [draft, setDraft] = useState<Draft>(() => draftOf(policy))
  const change = changeFrom(policy, draft)
  const { steps, warnings, failure } = usePreview(change)
  const action = useAction(async () => {
    const { warnings: said } = await webKeys.updateRotationPolicy(change)
    onClose()
    onDone(['The policy is changed.', ...said.map(sentence)].join(' '))
  })
  const set = (values: Partial<Draft>) => setDraft((before) => ({ ...before, ...values }))
  return (
    <Dialog title="Rotation policy" onClose={onClose} isWide>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void action.run()
        }}
      >
        <div class="dialog-body">
          <label class="check">
            <input
              type="checkbox"
              checked={draft.enabled}
              onChange={({ currentTarget }) => set({ enabled: currentTarget.checked })}
            />
            Keys rotate by themselves
          </label>
          <div class="fields">
            {DURATIONS.map(({ name, label, hint }) => (
              <DurationField
                key={name}
                label={label}
                hint={hint}
                seconds={draft[name]}
                onChange={(seconds) => set({ [name]: seconds })}
              />
            ))}
          </div>
          <label class="check">
            <input
              type="checkbox"
              checked={draft.keepStandby}
              onChange={({ currentTarget }) => set({ keepStandby: currentTarget.checked })}
            />
            A standby is always published, so that an emergency needs no wait
          </label>
          <KindChoice kindId={draft.kindId} onChange={(kindId) => set({ kindId })} warnings={warnings} />
          <section class="preview" aria-label="Preview" aria-live="polite">
            <h3>{change.updateMask.paths.length === 0 ? 'As it is' : 'What would follow'}</h3>
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
        </div>
        <FailureNotice failure={action.failure} />
        <DialogButtons
          verb="Change policy"
          isIncomplete={failure !== undefined || change.updateMask.paths.length === 0}
          onClose={onClose}
          action={action}
        />
      </form>
    </Dialog>
  )
}

function draftOf(policy: RotationPolicy): Draft {
  return {
    enabled: policy.enabled,
    kindId: kindIdOf(policy.config),
    rotationInterval: lengthOf(policy.rotationInterval) / 1000,
    publishAhead: lengthOf(policy.publishAhead) / 1000,
    retention: lengthOf(policy.retention) / 1000,
    rollbackWindow: lengthOf(policy.rollbackWindow) / 1000,
    keepStandby: policy.keepStandby,
  }
}

/** The fields of the API by those of the form. */
const PATHS: Readonly<Record<keyof Draft, string>> = {
  enabled: 'enabled',
  kindId: 'config',
  rotationInterval: 'rotation_interval',
  publishAhead: 'publish_ahead',
  retention: 'retention',
  rollbackWindow: 'rollback_window',
  keepStandby: 'keep_standby',
}

/** A change of the policy. */
interface Change {
  readonly policy: MessageInitShape<typeof RotationPolicySchema>
  readonly updateMask: { readonly paths: string[] }
}

function changeFrom(before: RotationPolicy, draft: Draft): Change {
  const old = draftOf(before)
  const names = (Object.keys(PATHS) as (keyof Draft)[]).filter((name) => draft[name] !== old[name])
  const seconds = (value: number) => ({ seconds: BigInt(Number.isFinite(value) ? value : 0) })
  const config = KEY_KINDS.find(({ id }) => id === draft.kindId)?.config
  return {
    policy: {
      enabled: draft.enabled,
      keepStandby: draft.keepStandby,
      rotationInterval: seconds(draft.rotationInterval),
      publishAhead: seconds(draft.publishAhead),
      retention: seconds(draft.retention),
      rollbackWindow: seconds(draft.rollbackWindow),
      ...(config === undefined ? {} : { config }),
    },
    updateMask: { paths: names.map((name) => PATHS[name]) },
  }
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
