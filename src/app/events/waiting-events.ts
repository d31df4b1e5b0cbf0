/** The events that wait for a webhook. */
import type { AuditEvent, AuditFilter } from '../../domain/audit.ts'
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
