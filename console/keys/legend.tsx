/**
 * What the colours of the timeline mean.
 */
import { PHASES, type PhaseKind } from './phases.ts'

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
