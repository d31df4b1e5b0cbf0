/**
 * A field for a length of time: a whole number of a unit.
 */
import { useState } from 'preact/hooks'
import { Field } from './field.tsx'

const UNITS = [
  { name: 'days', seconds: 86_400 },
  { name: 'hours', seconds: 3600 },
  { name: 'minutes', seconds: 60 },
  { name: 'seconds', seconds: 1 },
] as const

interface DurationFieldProps {
  readonly label: string
  readonly hint?: string
  readonly seconds: number
  readonly onChange: (seconds: number) => void
}

export function DurationField({ label, hint, seconds, onChange }: DurationFieldProps) {
  const [unit, setUnit] = useState<number>(() => unitOf(seconds))
  return (
    <Field label={label} {...(hint === undefined ? {} : { hint })}>
      {(id) => (
        <span class="duration">
          <input
            id={id}
            type="number"
            min="0"
            step="any"
            required
            value={seconds / unit}
            onInput={({ currentTarget }) => onChange(Math.round(currentTarget.valueAsNumber * unit))}
          />
          <select
            aria-label={`Unit of: ${label}`}
            value={unit}
            onChange={({ currentTarget }) => setUnit(Number(currentTarget.value))}
          >
            {UNITS.map(({ name, seconds: length }) => (
              <option key={name} value={length}>
                {name}
              </option>
            ))}
          </select>
        </span>
      )}
    </Field>
  )
}

/** The largest unit of which it is a whole number. */
function unitOf(seconds: number): number {
  return UNITS.find((unit) => seconds > 0 && seconds % unit.seconds === 0)?.seconds ?? 1
}
