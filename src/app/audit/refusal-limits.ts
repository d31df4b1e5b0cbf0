/**
 * Rate limits of the refusals that are written to the audit trail.
 *
 * Anyone can cause refusals, and must neither fill the database with them nor hide the refusals of others. So each kind of
 * caller has its own limits, and so has each source of a kind.
 */
import { ANONYMOUS, type AuditEntry } from '../../domain/audit.ts'
import type { Clock } from '../../domain/time.ts'
import { networkOf } from '../access/network.ts'
import { type RateLimit, TokenBuckets } from '../access/token-buckets.ts'

/**
 * Who was refused: a caller who has proved who it is, an anonymous one who tried to be a user that exists, or any other
 * anonymous one.
 */
export const REFUSAL_KINDS = ['caller', 'claimed_user', 'anonymous'] as const
export type RefusalKind = (typeof REFUSAL_KINDS)[number]

/** Which kind of refusal it is. */
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

export class RefusalLimits {
  readonly #buckets: Readonly<Record<keyof typeof LIMITS, TokenBuckets>>

  constructor(clock: Pick<Clock, 'monotonic'>) {
    const bucketsFor = (limit: RateLimit) => new TokenBuckets({ ...limit, clock, capacity: MAX_SOURCES })
    this.#buckets = {
      caller: bucketsFor(LIMITS.caller),
      address: bucketsFor(LIMITS.address),
      anonymous: bucketsFor(LIMITS.anonymous),
      userAtAddress: bucketsFor(LIMITS.userAtAddress),
      user: bucketsFor(LIMITS.user),
      usersAtAddress: bucketsFor(LIMITS.usersAtAddress),
      users: bucketsFor(LIMITS.users),
    }
  }

  /** Whether a refusal may be written; it counts if it may. */
  admits(entry: AuditEntry): boolean {
    const sources = this.#sourcesOf(entry)
    if (!sources.every(([buckets, source]) => buckets.has(source))) return false
    for (const [buckets, source] of sources) buckets.take(source)
    return true
  }

  #sourcesOf(entry: AuditEntry): readonly (readonly [TokenBuckets, string])[] {
    const { caller, address, anonymous, userAtAddress, user, usersAtAddress, users } = this.#buckets
    const { actor, resource, clientAddress = '' } = entry
    const network = networkOf(clientAddress)
    switch (kindOf(entry)) {
      case 'caller':
        return [[caller, actor]]
      case 'claimed_user':
        return [
          [userAtAddress, `${resource} ${network}`],
          [user, resource],
          [usersAtAddress, network],
          [users, ''],
        ]
      case 'anonymous':
        return [
          [address, network],
          [anonymous, ''],
        ]
    }
  }
}
