/**
 * Counts the refusals of one kind that were dropped from the audit trail.
 */
import type { AuditEntry, Omission } from '../../domain/audit.ts'
import { networkOf } from '../access/network.ts'
import { kindOf } from './refusal-limits.ts'

/** How many sources are counted separately. Refusals of other sources count in the total only. */
const MAX_SOURCES = 1000

/** The origin of a refusal. */
type Source = Pick<AuditEntry, 'actor' | 'resource' | 'clientAddress'>

export class OmissionCounter {
  #count = 0
  #since: Date | undefined
  readonly #sources = new Map<string, { readonly source: Source; count: number }>()

  /** Counts refusals of one source, the first of them at `since`. */
  add(entry: AuditEntry, { count, since }: Omission): void {
    this.#count += count
    if (this.#since === undefined || since < this.#since) this.#since = since
    const source = sourceOf(entry)
    const key = JSON.stringify(source)
    const counted = this.#sources.get(key)
    if (counted !== undefined) counted.count += count
    else if (this.#sources.size < MAX_SOURCES) this.#sources.set(key, { source, count })
  }

  /** The event for the refusals counted so far, which resets the count; undefined if there are none. */
  drain(): { readonly entry: AuditEntry; readonly omission: Omission } | undefined {
    if (this.#since === undefined) return undefined
    const omission = { count: this.#count, since: this.#since }
    const [most] = [...this.#sources.values()].sort((a, b) => b.count - a.count)
    this.#count = 0
    this.#since = undefined
    this.#sources.clear()
    const entry = { actor: '', resource: '', ...most?.source, action: 'audit/omitted', requestId: '' }
    return { entry, omission }
  }
}

/** The user or the address, without what was asked for. */
function sourceOf(entry: AuditEntry): Source {
  const { actor, resource, clientAddress = '' } = entry
  const network = networkOf(clientAddress)
  return {
    actor,
    resource: kindOf(entry) === 'claimed_user' ? resource : '',
    clientAddress: network.includes(':') ? `${network}::/64` : network,
  }
}
