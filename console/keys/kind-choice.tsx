/**
 * The choice of a kind of key, with what is known to happen at verifiers when it is the first of its algorithm.
 */
import { Field } from '../parts/field.tsx'
import { Notice, sentence } from '../parts/notice.tsx'
import { KEY_KINDS } from './key-kind.ts'

interface KindChoiceProps {
  readonly kindId: string
  readonly onChange: (kindId: string) => void
  readonly warnings: readonly string[]
}

export function KindChoice({ kindId, onChange, warnings }: KindChoiceProps) {
  return (
    <>
      <Field label="Kind of key">
        {(id) => (
          <select id={id} value={kindId} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
            {KEY_KINDS.map(({ id: value, name, algorithm }) => (
              <option key={value} value={value}>
                {name} ({algorithm})
              </option>
            ))}
          </select>
        )}
      </Field>
      <div aria-live="polite">
        {warnings.length > 0 && (
          <Notice kind="warning">
            <p>
              <strong>The first key of an algorithm can stop verifiers.</strong>
            </p>
            <ul>
              {warnings.map((warning) => (
                <li key={warning}>{sentence(warning)}</li>
              ))}
            </ul>
          </Notice>
        )}
      </div>
    </>
  )
}
