/**
 * What there is to notice about a client secret.
 */
import type { ClientSecret } from '../../gen/iam/user/v2/service_user_pb.js'
import { formatDistance, formatRoughly, millisecondsOf } from '../format/moment.ts'

const DAY = 86_400_000

/** A secret that ends within this time should be rotated. */
const SOON = 14 * DAY

/** A secret that has not been used for this time is likely to be superfluous. */
const UNUSED = 30 * DAY

/** How a state is shown. */
export interface SecretState {
  readonly kind: 'live' | 'expired' | 'deactivated'
  readonly text: string
  readonly tone: 'success' | 'warning' | ''
}

/** The state of a secret. */
export function stateOfSecret(secret: ClientSecret, now: number): SecretState {
  const ends = millisecondsOf(secret.expirationDate)
  if (secret.deactivationDate !== undefined) return { kind: 'deactivated', text: 'deactivated', tone: '' }
  if (ends !== undefined && ends <= now) return { kind: 'expired', text: 'expired', tone: '' }
  if (ends !== undefined && ends - now < SOON) {
    return { kind: 'live', text: `ends ${formatDistance(ends, now)}`, tone: 'warning' }
  }
  const since = millisecondsOf(secret.lastUseDate ?? secret.creationDate) ?? now
  if (now - since >= UNUSED) return { kind: 'live', text: `unused for ${formatRoughly(now - since)}`, tone: 'warning' }
  return { kind: 'live', text: 'live', tone: 'success' }
}
