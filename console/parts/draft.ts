/**
 * The values of a form, and which of them differ from what there was.
 */
import { useState } from 'preact/hooks'

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
