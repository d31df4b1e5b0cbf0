/**
 * The phases of the life of a key, as they are drawn.
 */
import type { KeyLife } from './key-life.ts'

/** What a key does in a phase. */
export type PhaseKind = 'learning' | 'published' | 'signing' | 'needed' | 'kept'

/** A phase. */
export interface Phase {
  readonly kind: PhaseKind
  readonly from: number
  /** Undefined: it has no known end. */
  readonly to: number | undefined
}

/** What each phase means, in the order of a life. */
export const PHASES: Readonly<Record<PhaseKind, string>> = {
  learning: 'published, not known to every verifier yet',
  published: 'published, known to verifiers',
  signing: 'signs new tokens',
  needed: 'tokens that it signed are still valid',
  kept: 'still published, signs no more',
}

/** The phases of a life, in order, without empty ones. */
export function phasesOf(life: KeyLife): readonly Phase[] {
  const { publishedAt, knownAt, signsAt, stopsAt, neededUntil, goneAt } = life
  const phases: Phase[] = [
    { kind: 'learning', from: publishedAt, to: least(knownAt, signsAt, goneAt) },
    { kind: 'published', from: knownAt, to: least(signsAt, goneAt) },
  ]
  if (signsAt !== undefined) phases.push({ kind: 'signing', from: signsAt, to: least(stopsAt, goneAt) })
  if (stopsAt !== undefined) {
    if (neededUntil !== undefined) phases.push({ kind: 'needed', from: stopsAt, to: least(neededUntil, goneAt) })
    phases.push({ kind: 'kept', from: neededUntil ?? stopsAt, to: goneAt })
  }
  return phases.filter(({ from, to }) => to === undefined || to > from)
}

function least(...moments: readonly (number | undefined)[]): number | undefined {
  const known = moments.filter((at) => at !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
