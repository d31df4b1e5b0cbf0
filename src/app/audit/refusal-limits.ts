/**
 * Rate limits of the refusals that are written to the audit trail.
 *
 * Anyone can cause refusals, and must neither fill the database with them nor hide the refusals of others. So each kind of
 * caller has its own limits, and so has each source of a kind.
 */
import { ANONYMOUS, type AuditEntry } from '../../domain/audit.ts'
import type { Clock } from '../../domain/time.ts'
import { networkOf, type RateLimit, TokenBuckets } from '../access/rate-limits.ts'

/** Who was refused: a caller who has proved who it is, an anonymous one who tried to be a user that exists, or any other anonymous one. */
export type RefusalKind = 'caller' | 'claimed_user' | 'anonymous'

export function kindOf({ actor, resource }: AuditEntry): RefusalKind {
  if (actor !== ANONYMOUS) return 'caller'
  return resource === '' ? 'anonymous' : 'claimed_user'
}

/** Per process. The addresses of one IPv6 network (/64) count as one. */
const LIMITS = {
  /** Of a user, or of the system. */
  caller: { burst: 200, perSecond: 1 },
  /** Of anonymous callers at an address. */
  address: { burst: 50, perSecond: 1 / 60 },
  /** Of all anonymous callers together. */
  anonymous: { burst: 1000, perSecond: 1 },
  /** Of attempts to be a user, from an address. */
  userAtAddress: { burst: 20, perSecond: 1 / 60 },
  /** Of attempts to be a user, from anywhere. */
  user: { burst: 100, perSecond: 1 / 10 },
  /** Of attempts to be any user, from an address. */
  usersAtAddress: { burst: 100, perSecond: 1 / 10 },
  /** Of all attempts to be a user together. */
  users: { burst: 1000, perSecond: 1 },
} satisfies Readonly<Record<string, RateLimit>>

/** How many sources each limit remembers. */
const MAX_SOURCES = 10_000

type Source = readonly [limit: keyof typeof LIMITS, source: string]

export class RefusalLimits {
  readonly #buckets: ReadonlyMap<string, TokenBuckets>

  constructor(clock: Pick<Clock, 'monotonic'>) {
    const buckets = Object.entries(LIMITS).map(
      ([name, limit]) => [name, new TokenBuckets({ ...limit, clock, capacity: MAX_SOURCES })] as const,
    )
    this.#buckets = new Map(buckets)
  }

  /** Whether a refusal may be written; it counts if it may. */
  admits(entry: AuditEntry): boolean {
    const sources = sourcesOf(entry)
    if (!sources.every(([limit, source]) => this.#buckets.get(limit)?.has(source))) return false
    for (const [limit, source] of sources) this.#buckets.get(limit)?.take(source)
    return true
  }
}

function sourcesOf(entry: AuditEntry): readonly Source[] {
  const { actor, resource, clientAddress = '' } = entry
  const network = networkOf(clientAddress)
  switch (kindOf(entry)) {
    case 'caller':
      return [['caller', actor]]
    case 'claimed_user':
      return [
        ['userAtAddress', `${resource} ${network}`],
        ['user', resource],
        ['usersAtAddress', network],
        ['users', ''],
      ]
    case 'anonymous':
      return [
        ['address', network],
        ['anonymous', ''],
      ]
  }
}
