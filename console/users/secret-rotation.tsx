/**
 * How to rotate a secret without an outage, as steps that see how far it is.
 */
import type { ComponentChildren } from 'preact'
import type { ClientSecret } from '../../gen/iam/user/v2/service_user_pb.js'
import { formatLength, millisecondsOf } from '../format/moment.ts'
import { shortened } from '../format/shortened.ts'
import { now } from '../live/clock.ts'
import { tokenLifetime } from '../live/instance.ts'
import { Icon } from '../parts/icon.tsx'
import { Distance } from '../parts/when.tsx'
import { stateOfSecret } from './secret-state.ts'

interface SecretRotationProps {
  /** Oldest first. */
  readonly secrets: readonly ClientSecret[]
  /** Undefined: it may not be done. */
  readonly onDeactivate: ((secret: ClientSecret) => void) | undefined
}

export function SecretRotation({ secrets, onDeactivate }: SecretRotationProps) {
  const at = now.value
  const token = tokenLifetime.value
  const live = secrets.filter((secret) => stateOfSecret(secret, at).kind === 'live')
  const [old] = live
  const fresh = live.at(-1)
  if (old === undefined || fresh === undefined) return null
  const isGenerated = old !== fresh
  const oldUse = millisecondsOf(old.lastUseDate)
  const freshUse = isGenerated ? millisecondsOf(fresh.lastUseDate) : undefined
  const isSwitched = freshUse !== undefined
  const isUnused = isSwitched && (oldUse === undefined || at - oldUse > token)
  return (
    <details class="procedure" open={isGenerated}>
      <summary>Rotate a secret without an outage</summary>
      <ol class="procedure-steps">
        <Step isDone={isGenerated}>
          Generate a second secret. Both work.
          {isGenerated && <Fact>{`${shortened(fresh.secretId)} is the new one`}</Fact>}
        </Step>
        <Step isDone={isSwitched}>
          Give the new one to every instance of the service.
          {isGenerated && (
            <Fact>
              {isSwitched ? (
                <>
                  the new one is in use, last <Distance at={freshUse} />
                </>
              ) : (
                'the new one has not been used yet'
              )}
            </Fact>
          )}
        </Step>
        <Step isDone={isUnused}>
          Wait until the old one has not been used for longer than a token lives ({formatLength(token)}).
          {isGenerated && (
            <Fact>
              {shortened(old.secretId)}{' '}
              {oldUse === undefined ? (
                'has never been used'
              ) : (
                <>
                  was last used <Distance at={oldUse} />
                </>
              )}
            </Fact>
          )}
        </Step>
        <Step isDone={false}>
          Deactivate the old one.
          {isGenerated && onDeactivate !== undefined && (
            <button
              type="button"
              class={isUnused ? 'button is-primary is-small' : 'button is-small'}
              onClick={() => onDeactivate(old)}
            >
              Deactivate {shortened(old.secretId)}
            </button>
          )}
        </Step>
      </ol>
    </details>
  )
}

function Step({ isDone, children }: { readonly isDone: boolean; readonly children: ComponentChildren }) {
  return (
    <li class={isDone ? 'is-done' : ''}>
      <span class="step-mark">{isDone && <Icon name="check" />}</span>
      <div>
        {isDone && <span class="unseen">Done: </span>}
        {children}
      </div>
    </li>
  )
}

function Fact({ children }: { readonly children: ComponentChildren }) {
  return <p class="quiet">{children}</p>
}
