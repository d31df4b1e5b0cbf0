/**
 * What the colours of the timeline mean, and the hatched grounds of some of them.
 */
import type { PhaseKind } from './key-life.ts'

/** What each phase means, in the order of a life. */
export const PHASES: Readonly<Record<PhaseKind, string>> = {
  learning: 'published, not known to every verifier yet',
  published: 'published, known to verifiers',
  signing: 'signs new tokens',
  needed: 'tokens that it signed are still valid',
  kept: 'still published, signs no more',
}

const SHORT: Readonly<Record<PhaseKind, string>> = {
  learning: 'verifiers learn it',
  published: 'published',
  signing: 'signs',
  needed: 'its tokens are still valid',
  kept: 'still published',
}

export function Legend() {
  return (
    <ul class="legend" aria-label="Legend">
      {(Object.keys(PHASES) as PhaseKind[]).map((kind) => (
        <li key={kind} title={PHASES[kind]}>
          <svg width="18" height="12" aria-hidden="true">
            <rect class={`phase is-${kind}`} width="18" height="12" />
          </svg>
          {SHORT[kind]}
        </li>
      ))}
    </ul>
  )
}

const PATTERNS = [
  { name: 'learning', angle: 45 },
  { name: 'needed', angle: -45 },
] as const

/** Once in a document. */
export function Patterns() {
  return (
    <svg class="patterns" aria-hidden="true">
      <defs>
        {PATTERNS.map(({ name, angle }) => (
          <pattern
            key={name}
            id={name}
            width="6"
            height="6"
            patternUnits="userSpaceOnUse"
            patternTransform={`rotate(${angle})`}
          >
            <rect class={`${name}-ground`} width="6" height="6" />
            <rect class={`${name}-line`} width="3" height="6" />
          </pattern>
        ))}
      </defs>
    </svg>
  )
}
