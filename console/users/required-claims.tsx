/**
 * Claims that a JWT must have besides its subject and audience, in a form.
 */
import { Icon } from '../parts/icon.tsx'

/** A claim, in the words of the API. */
export interface Claim {
  /** A JSON pointer (RFC 6901). */
  readonly pointer: string
  readonly value: string
}

interface RequiredClaimsProps {
  readonly claims: readonly Claim[]
  readonly onChange: (claims: readonly Claim[]) => void
}

export function RequiredClaims({ claims, onChange }: RequiredClaimsProps) {
  const set = (index: number, values: Partial<Claim>) =>
    onChange(claims.map((claim, at) => (at === index ? { ...claim, ...values } : claim)))
  return (
    <fieldset class="claims-fields">
      <legend>Other claims that it must have</legend>
      {claims.map(({ pointer, value }, index) => (
        <div key={index} class="claim-fields">
          <input
            type="text"
            aria-label={`Claim ${index + 1}`}
            placeholder="/repository"
            autocomplete="off"
            spellcheck={false}
            value={pointer}
            onInput={({ currentTarget }) => set(index, { pointer: currentTarget.value })}
          />
          <input
            type="text"
            aria-label={`Value of claim ${index + 1}`}
            placeholder="its value"
            autocomplete="off"
            spellcheck={false}
            value={value}
            onInput={({ currentTarget }) => set(index, { value: currentTarget.value })}
          />
          <button
            type="button"
            class="icon-button"
            aria-label={`Remove claim ${index + 1}`}
            onClick={() => onChange(claims.filter((_, at) => at !== index))}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
      <button type="button" class="button is-small" onClick={() => onChange([...claims, { pointer: '', value: '' }])}>
        Add claim
      </button>
      <p class="hint">
        Each by a JSON pointer, for example <code>/kubernetes.io/namespace</code>, and the text that it must be.
      </p>
    </fieldset>
  )
}
