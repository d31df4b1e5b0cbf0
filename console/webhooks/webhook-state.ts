/**
 * How delivery to a webhook goes, in a few words.
 */
import { type Webhook, WebhookState } from '../../gen/iam/event/v2/webhook_pb.js'
import { formatDistance, formatRoughly, millisecondsOf } from '../format/moment.ts'

/** How a state is shown. */
export interface DeliveryState {
  readonly text: string
  readonly tone: 'success' | 'warning' | 'danger' | ''
}

/** The state of a webhook. */
export function stateOfWebhook({ state, delivery }: Webhook, now: number): DeliveryState {
  if (state === WebhookState.GONE) return { text: 'disabled: its receiver is gone', tone: 'danger' }
  if (state !== WebhookState.ENABLED) return { text: 'disabled', tone: '' }
  const [waitingSince, deliveredAt] = [delivery?.waitingSinceDate, delivery?.lastSuccessDate].map(millisecondsOf)
  if ((delivery?.failures ?? 0) > 0 && waitingSince !== undefined) {
    return { text: `failing for ${formatRoughly(now - waitingSince)}`, tone: 'danger' }
  }
  if (deliveredAt === undefined) return { text: 'nothing delivered yet', tone: '' }
  return { text: `delivered ${formatDistance(deliveredAt, now)}`, tone: 'success' }
}

/** How many events wait. Only the first 1000 are looked at. */
export function waitingEventsOf({ delivery }: Webhook): string {
  const waiting = delivery?.waitingEvents ?? 0
  if (waiting === 0) return 'none'
  return waiting < COUNTED ? String(waiting) : `${COUNTED} or more`
}

const COUNTED = 1000
