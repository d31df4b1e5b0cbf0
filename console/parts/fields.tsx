/**
 * Fields of forms with their labels, and the values to which they are bound.
 */
import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'

/** A form that is being filled. The names of its values are those of the API. */
export interface Draft<Values> {
  readonly values: Values
  /** As they were when the form was filled from them, so that what changes elsewhere meanwhile is not taken for a change of the form. */
  readonly before: Values
  /** Those that were changed, for an update mask. */
  readonly paths: string[]
  set(changes: Partial<Values>): void
  /** What the field for a value needs. */
  field<Name extends keyof Values>(name: Name): Bound<Values[Name]>
}

/** A value that a field shows and changes. */
export interface Bound<Value> {
  readonly value: Value
  readonly onChange: (value: Value) => void
}

/** @param given Read when the form is drawn for the first time. */
export function useDraft<Values extends object>(given: Values): Draft<Values> {
  const [before] = useState(given)
  const [values, setValues] = useState(before)
  const set = (changes: Partial<Values>) => setValues((current) => ({ ...current, ...changes }))
  const names = Object.keys(before) as (keyof Values & string)[]
  return {
    values,
    before,
    paths: names.filter((name) => values[name] !== before[name]).map(inSnakeCase),
    set,
    field: <Name extends keyof Values>(name: Name): Bound<Values[Name]> => ({
      value: values[name],
      onChange: (value) => set({ [name]: value } as unknown as Partial<Values>),
    }),
  }
}

function inSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** What every field has. */
interface Labelled {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly required?: boolean
}

interface FieldProps extends Labelled {
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

interface TextFieldProps extends Labelled, Bound<string> {
  readonly type?: 'text' | 'url'
  readonly maxLength?: number
  readonly spellcheck?: boolean
  readonly placeholder?: string
}

export function TextField({ label, hint, onChange, type = 'text', ...input }: TextFieldProps) {
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <input
          {...input}
          id={id}
          // Preact types each kind of input by itself.
          type={type as 'text'}
          autocomplete="off"
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  )
}

interface LongTextFieldProps extends Labelled, Bound<string> {
  readonly rows: number
}

/** For what is pasted. */
export function LongTextField({ label, hint, onChange, ...area }: LongTextFieldProps) {
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <textarea
          {...area}
          id={id}
          spellcheck={false}
          autocomplete="off"
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  )
}

/** A choice: its value, with the text that stands for it. */
export type Choice<Value> = readonly [value: Value, text: string]

interface SelectFieldProps<Value extends string | number> extends Labelled, Bound<Value> {
  readonly choices: readonly Choice<Value>[]
}

export function SelectField<Value extends string | number>(props: SelectFieldProps<Value>) {
  const { label, hint, choices, onChange, ...select } = props
  const choose = (text: string) => {
    const chosen = choices.find(([choice]) => String(choice) === text)
    if (chosen !== undefined) onChange(chosen[0])
  }
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <select {...select} id={id} onChange={({ currentTarget }) => choose(currentTarget.value)}>
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

interface CheckFieldProps extends Bound<boolean> {
  readonly isSmall?: boolean
  /** What it says when it is checked. */
  readonly children: ComponentChildren
}

export function CheckField({ isSmall = false, value, onChange, children }: CheckFieldProps) {
  return (
    <label class={isSmall ? 'check is-small' : 'check'}>
      <input type="checkbox" checked={value} onChange={({ currentTarget }) => onChange(currentTarget.checked)} />
      {children}
    </label>
  )
}

const UNITS = [
  { name: 'days', seconds: 86_400 },
  { name: 'hours', seconds: 3600 },
  { name: 'minutes', seconds: 60 },
  { name: 'seconds', seconds: 1 },
] as const

/** A length of time in seconds, as a number of a unit, at first of the largest one of which it is a whole number. */
export function DurationField({ label, hint, value, onChange }: Labelled & Bound<number>) {
  const [unit, setUnit] = useState<number>(
    () => UNITS.find((each) => value > 0 && value % each.seconds === 0)?.seconds ?? 1,
  )
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <span class="duration">
          <input
            id={id}
            type="number"
            min="0"
            step="any"
            required
            value={value / unit}
            onInput={({ currentTarget }) => onChange(Math.round(currentTarget.valueAsNumber * unit))}
          />
          <select
            aria-label={`Unit of: ${label}`}
            value={unit}
            onChange={({ currentTarget }) => setUnit(Number(currentTarget.value))}
          >
            {UNITS.map(({ name, seconds }) => (
              <option key={name} value={seconds}>
                {name}
              </option>
            ))}
          </select>
        </span>
      )}
    </Field>
  )
}

const DAY = 86_400_000
const NEVER: Choice<number> = [0, 'never']
const EXPIRIES = [7, 30, 90, 180, 365].map((days): Choice<number> => [days, `after ${days} days`])

/** When something stops working: after so many days, or 0 for never. */
export function ExpiryField({ canBeNever = true, ...field }: Bound<number> & { readonly canBeNever?: boolean }) {
  return <SelectField label="Stops working" choices={canBeNever ? [NEVER, ...EXPIRIES] : EXPIRIES} {...field} />
}

/** The field of a request with the date; none for never. */
export function expirationIn(days: number): { expirationDate?: Timestamp } {
  return days === 0 ? {} : { expirationDate: timestampFromDate(new Date(Date.now() + days * DAY)) }
}
