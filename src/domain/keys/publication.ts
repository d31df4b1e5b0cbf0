/**
 * From when on verifiers know an initial key (Spec §8). It counts from the publication, never from the creation.
 *
 * `planPublication` in `key-ring.ts` dates the publication.
 */
import { DomainError } from '../errors.ts'
import { after } from '../time.ts'
import type { InitialWebKey } from './web-key.ts'

/** The time now, and how long clients may reuse the key set, in seconds. */
export interface PublicationRules {
  readonly now: Date
  readonly jwksMaxAgeSeconds: number
}

/** Until when verifiers may not know a key, at least. */
export interface UnknownToVerifiers {
  readonly until: Date
  /** Whether the wait has begun. */
  readonly isPublished: boolean
}

/** When a key has been published for so long. Undefined: it has not been published yet. */
export function publishedFor({ publishedAt }: InitialWebKey, seconds: number): Date | undefined {
  return publishedAt === null ? undefined : after(publishedAt, seconds)
}

/** Whether every verifier knows the key, and if not, until when. Undefined: they know it. */
export function unknownToVerifiers(key: InitialWebKey, rules: PublicationRules): UnknownToVerifiers | undefined {
  const { now, jwksMaxAgeSeconds } = rules
  const knownAt = publishedFor(key, jwksMaxAgeSeconds)
  if (knownAt === undefined) return { until: after(now, jwksMaxAgeSeconds), isPublished: false }
  return now < knownAt ? { until: knownAt, isPublished: true } : undefined
}

/** The refusal to let such a key sign. */
export function tooYoung({ keyId }: InitialWebKey, { until, isPublished }: UnknownToVerifiers): DomainError {
  const allowedFrom = until.toISOString()
  const when = isPublished
    ? `it can be activated from ${allowedFrom}`
    : `its publication has not been confirmed, so it cannot be activated before ${allowedFrom}`
  return new DomainError('web_key_too_young', `verifiers may not know web key ${keyId} yet: ${when}`, {
    metadata: { key_id: keyId, allowed_from: allowedFrom },
  })
}

/** The warning about a key that signs before every verifier has it. @param knownFrom From then on all have it. */
export function earlyActivationWarning(knownFrom: Date): string {
  return `verifiers may not know the key before ${knownFrom.toISOString()}, when their copy of the key set has expired`
}
