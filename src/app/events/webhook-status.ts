/** What waits for a webhook, and how delivery goes, as this process knows it. */
import type { AuditEvent, AuditFilter, AuditPosition } from '../../domain/audit.ts'
import { MAX_COUNTED } from '../../domain/events/delivery.ts'
import { isWanted, type Webhook } from '../../domain/events/webhook.ts'
import type { AuditReader } from '../../domain/ports/audit.ts'

/** What a webhook wants is decided here and not by the database: its filter knows types and several resources. */
export const EVERYTHING: AuditFilter = { from: null, to: null, actor: null, resource: null }

/** Those among the next `MAX_COUNTED` events of the trail. */
export async function waitingEvents(
  reader: Pick<AuditReader, 'readAfter'>,
  { delivery: { position }, filter }: Pick<Webhook, 'delivery' | 'filter'>,
): Promise<readonly AuditEvent[]> {
  const { events } = await reader.readAfter(position, { filter: EVERYTHING, limit: MAX_COUNTED })
  return events.map(({ event }) => event).filter((event) => isWanted(filter, event))
}

const RESULTS = ['delivered', 'failed', 'given_up'] as const
type Result = (typeof RESULTS)[number]

export interface WebhookStatus {
  readonly attempts: Readonly<Record<Result, number>>
  /** The enabled ones, by what the database said last: every replica has the same. */
  readonly webhooks: readonly {
    readonly name: string
    /** Since the event that waits longest was made, or was first seen to wait. 0: none does. */
    readonly behindSeconds: number
    /** As it was counted at the last attempt that failed. */
    readonly waiting: number
  }[]
}

export class WebhookStatuses {
  readonly #now: () => Date
  readonly #attempts = { delivered: 0, failed: 0, given_up: 0 }
  #webhooks: readonly Webhook[] = []
  #latest: AuditPosition = ''
  /** Since when the position of a webhook is the same, and not the latest. */
  #stuck = new Map<string, { readonly position: AuditPosition; readonly since: Date }>()

  constructor(now: () => Date) {
    this.#now = now
  }

  count(result: Result): void {
    this.#attempts[result] += 1
  }

  /** @param latest The end of the trail. */
  note(webhooks: readonly Webhook[], latest: AuditPosition): void {
    const before = this.#stuck
    const waiting = webhooks.filter(({ delivery }) => delivery.position !== latest)
    this.#stuck = new Map(
      waiting.map(({ webhookId, delivery: { position } }) => {
        const known = before.get(webhookId)
        return [webhookId, known?.position === position ? known : { position, since: this.#now() }]
      }),
    )
    this.#webhooks = webhooks
    this.#latest = latest
  }

  get current(): WebhookStatus {
    const webhooks = this.#webhooks.map((webhook) => ({
      name: webhook.name,
      behindSeconds: this.#behindSeconds(webhook),
      waiting: webhook.delivery.failing?.waiting ?? 0,
    }))
    return { attempts: { ...this.#attempts }, webhooks }
  }

  #behindSeconds({ webhookId, delivery: { position, failing } }: Webhook): number {
    if (position === this.#latest) return 0
    const since = failing?.eventAt ?? this.#stuck.get(webhookId)?.since ?? this.#now()
    return Math.max(0, (this.#now().getTime() - since.getTime()) / 1000)
  }
}
