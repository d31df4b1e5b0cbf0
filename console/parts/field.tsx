/**
 * Fields of forms with their labels.
 */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface FieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  /** Renders the control, which must have the id. */
  children(id: string): ComponentChildren
}

export function Field({ label, hint, children }: FieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id)}
      {hint !== undefined && <p class="hint">{hint}</p>}
    </div>
  )
}

interface TextFieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly required?: boolean
  readonly maxLength?: number
  readonly spellcheck?: boolean
  readonly value: string
  readonly onChange: (value: string) => void
}

export function TextField({ label, hint, onChange, ...input }: TextFieldProps) {
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <input
          {...input}
          id={id}
          type="text"
          autocomplete="off"
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  )
}

interface SelectFieldProps<Value extends string | number> {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly value: Value
  /** Each with the text that stands for it. */
  readonly choices: readonly (readonly [value: Value, text: string])[]
  readonly onChange: (value: Value) => void
}

export function SelectField<Value extends string | number>(props: SelectFieldProps<Value>) {
  const { label, hint, value, choices, onChange } = props
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <select
          id={id}
          value={value}
          onChange={({ currentTarget }) => {
            const chosen = choices.find(([choice]) => String(choice) === currentTarget.value)
            if (chosen !== undefined) onChange(chosen[0])
          }}
        >
          {choices.map(([choice, text]) => (
            <option key={choice} value={choice}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
