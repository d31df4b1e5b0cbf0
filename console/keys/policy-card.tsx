/**
 * The rotation policy, and what it does next.
 */
import { type RotationPolicy, type RotationStep, RotationStepKind } from '../../gen/iam/webkey/v2/rotation_pb.js'
import { formatLength, lengthOf, millisecondsOf, shortened } from '../format/text.ts'
import { CardSection, Fact } from '../parts/page.tsx'
import { Distance, When } from '../parts/when.tsx'
import { kindOf } from './key-kind.tsx'

/** The effect of a step. */
const STEPS: Readonly<Record<RotationStepKind, string>> = {
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
      actions={
        onChange !== undefined && (
          <button type="button" class="button" onClick={onChange}>
            Change policy
          </button>
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
export function Steps({ steps }: { readonly steps: readonly RotationStep[] }) {
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
              {keyId === '' ? 'the next key' : <code>{shortened(keyId)}</code>} {STEPS[kind]}
            </span>
          </li>
        )
      })}
    </ol>
  )
}
