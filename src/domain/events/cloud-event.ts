/** An audit event as a CloudEvent (CloudEvents 1.0, JSON event format), which is what leaves Keyturn. */
import type { AuditEvent, Omission } from '../audit.ts'

export const CLOUD_EVENT_TYPE = 'application/cloudevents+json; charset=utf-8'

export interface CloudEvent {
  readonly specversion: '1.0'
  /** The id of the audit event. With `source` it is unique. */
  readonly id: string
  readonly source: string
  readonly type: string
  /** Left out if the event is about no resource: the attribute must not be empty. */
  readonly subject?: string
  readonly time: string
  readonly datacontenttype: 'application/json'
  /** The event as the API has it, in the JSON of protobuf: fields that are empty are left out. */
  readonly data: Readonly<Record<string, unknown>>
}

const PREFIX = 'keyturn.'

/** The type of events with an action: `keyturn.`, and the action with dots for slashes. */
export function eventTypeOf(action: string): string {
  return PREFIX + action.replaceAll('/', '.')
}

export function toCloudEvent(event: AuditEvent, issuer: string): CloudEvent {
  const { eventId, at, action, resource } = event
  return {
    specversion: '1.0',
    id: eventId,
    source: issuer,
    type: eventTypeOf(action),
    ...(resource === '' ? {} : { subject: resource }),
    time: at.toISOString(),
    datacontenttype: 'application/json',
    data: dataOf(event),
  }
}

function dataOf(event: AuditEvent): CloudEvent['data'] {
  const { eventId, at, actor, action, resource, outcome, requestId, clientAddress, reason, omission } = event
  const texts = { actor, action, resource, outcome, requestId, clientAddress, reason }
  return {
    eventId,
    eventDate: dateOf(at),
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')),
    ...(omission === null ? {} : { omission: omissionOf(omission) }),
  }
}

function omissionOf({ count, since }: Omission) {
  // An int64 is text in that JSON.
  return { count: String(count), sinceDate: dateOf(since) }
}

/** A timestamp as protobuf writes it: without a fraction of zero. */
function dateOf(at: Date): string {
  return at.toISOString().replace('.000Z', 'Z')
}
