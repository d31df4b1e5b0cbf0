/**
 * The rotation policy, and what it does next.
 */
import { type RotationPolicy, type RotationStep, RotationStepKind } from '../../gen/iam/webkey/v2/rotation_pb.js'
import { formatLength, lengthOf, millisecondsOf } from '../format/moment.ts'
import { shortened } from '../format/shortened.ts'
import { CardSection } from '../parts/card-section.tsx'
import { Distance, When } from '../parts/when.tsx'
import { kindNameOf } from './key-kind.ts'

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
      action={onChange !== undefined && { verb: 'Change policy', onClick: onChange }}
    >
      <div class="two-columns">
        <dl class="facts">
          <Fact name="Rotation">{policy.enabled ? 'by itself' : 'by hand only'}</Fact>
          <Fact name="A key signs for">{formatLength(lengthOf(policy.rotationInterval))}</Fact>
          <Fact name="Published before it signs">{formatLength(lengthOf(policy.publishAhead))}</Fact>
          <Fact name="Standby">{policy.keepStandby ? 'always published' : 'published when it is needed'}</Fact>
          <Fact name="Rollback possible for">{formatLength(lengthOf(policy.rollbackWindow))}</Fact>
          <Fact name="Kept after it has signed">{formatLength(lengthOf(policy.retention))}</Fact>
          <Fact name="Kind of new keys">{kindNameOf(policy.config)}</Fact>
        </dl>
        <div>
          <h3>What happens next</h3>
          <Steps steps={steps.slice(0, 5)} />
        </div>
      </div>
    </CardSection>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
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
