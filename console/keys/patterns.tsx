/**
 * The hatched grounds of the timeline and of its legend, once in a document.
 */
const PATTERNS = [
  { name: 'learning', angle: 45 },
  { name: 'needed', angle: -45 },
] as const

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
