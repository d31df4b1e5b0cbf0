/**
 * The lives of keys that were deleted, as far as the audit trail tells them: the API has only keys that exist, and those that were revoked.
 */
import type { CallOptions } from '@connectrpc/connect'
import type { AuditEvent } from '../../gen/iam/audit/v2/audit_service_pb.js'
import { auditTrail } from '../api/clients.ts'
import { millisecondsOf } from '../format/text.ts'
import { type KeyLife, newLife } from './key-life.ts'

/** So many of them are shown, the last ones. */
const SHOWN = 20

/** So many events of keys are read, the newest. */
const EVENTS = 1000

/** What the resource of an event of a key begins with. */
const KEYS = 'web_keys'

/** What an event did to its key, by the last part of its action. */
const DELETED = ['DeleteWebKey', 'delete']
const ACTIVATED = ['ActivateWebKey', 'RotateWebKey', 'activate']

/** Reads them. */
export async function readDeletedKeys(options: CallOptions): Promise<readonly KeyLife[]> {
  const { events } = await auditTrail.listAuditEvents({ resource: KEYS, pageSize: EVENTS }, options)
  return deletedLives(events)
}

interface KeyEvent {
  readonly keyId: string
  readonly did: string
  readonly at: number
}

/** @param events Newest first. */
function deletedLives(events: readonly AuditEvent[]): readonly KeyLife[] {
  const known = events.filter(({ outcome }) => outcome === 'ok').map(toKeyEvent)
  const activations = known.filter(({ did }) => ACTIVATED.includes(did))
  return known
    .filter(({ did }) => DELETED.includes(did))
    .slice(0, SHOWN)
    .map(({ keyId, at: goneAt }) => {
      const signsAt = activations.find((event) => event.keyId === keyId)?.at
      // Newest first, so the last one that fits is the next activation.
      const stopsAt = activations.findLast((event) => signsAt !== undefined && event.at > signsAt)?.at
      const publishedAt = known.findLast((event) => event.keyId === keyId)?.at ?? goneAt
      // The lifetime of tokens at that time is not known.
      return { ...newLife(keyId, publishedAt), isDeleted: true, signsAt, stopsAt, goneAt }
    })
}

function toKeyEvent({ resource, action, eventDate }: AuditEvent): KeyEvent {
  const [, keyId = ''] = resource.split('/')
  return { keyId, did: action.split('/').at(-1) ?? '', at: millisecondsOf(eventDate) ?? 0 }
}
