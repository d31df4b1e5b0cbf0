/**
 * What there is to notice about a client secret, and how to rotate one without an outage, as steps that see how far it is.
 */
import type { ComponentChildren } from 'preact'
import type { ClientSecret } from '../../gen/iam/user/v2/service_user_pb.js'
import { formatDistance, formatLength, formatRoughly, millisecondsOf, shortened } from '../format/text.ts'
import { now } from '../live/clock.ts'
import { tokenLifetime } from '../live/instance.ts'
import { Icon } from '../parts/icon.tsx'
import type { State } from '../parts/notice.tsx'
import { Distance } from '../parts/when.tsx'

const DAY = 86_400_000
/** A secret that ends within this time should be rotated. */
const SOON = 14 * DAY
/** A secret that has not been used for this time is likely to be superfluous. */
const UNUSED = 30 * DAY

/** The state of a secret. */
export function stateOfSecret(secret: ClientSecret, now: number): State & { readonly isLive: boolean } {
  const ends = millisecondsOf(secret.expirationDate)
  if (secret.deactivationDate !== undefined) return { isLive: false, text: 'deactivated', tone: '' }
  if (ends !== undefined && ends <= now) return { isLive: false, text: 'expired', tone: '' }
  if (ends !== undefined && ends - now < SOON)
    return { isLive: true, text: `ends ${formatDistance(ends, now)}`, tone: 'warning' }
  const since = millisecondsOf(secret.lastUseDate ?? secret.creationDate) ?? now
  if (now - since >= UNUSED) return { isLive: true, text: `unused for ${formatRoughly(now - since)}`, tone: 'warning' }
  return { isLive: true, text: 'live', tone: 'success' }
}

interface SecretRotationProps {
  /** Oldest first. */
  readonly secrets: readonly ClientSecret[]
  /** Undefined: it may not be done. */
  readonly onDeactivate: ((secret: ClientSecret) => void) | undefined
}

export function SecretRotation({ secrets, onDeactivate }: SecretRotationProps) {
  const at = now.value
  const token = tokenLifetime.value
  const live = secrets.filter((secret) => stateOfSecret(secret, at).isLive)
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
