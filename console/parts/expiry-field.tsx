/**
 * The choice of when something stops working.
 */
import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Field } from './field.tsx'

const DAY = 86_400_000
const DAYS = [7, 30, 90, 180, 365]

interface ExpiryFieldProps {
  /** In days; 0: never. */
  readonly days: number
  readonly canBeNever: boolean
  readonly onChange: (days: number) => void
}

export function ExpiryField({ days, canBeNever, onChange }: ExpiryFieldProps) {
  return (
    <Field label="Stops working">
      {(id) => (
        <select id={id} value={days} onChange={({ currentTarget }) => onChange(Number(currentTarget.value))}>
          {canBeNever && <option value={0}>never</option>}
          {DAYS.map((count) => (
            <option key={count} value={count}>
              after {count} days
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

/** The field of a request with the date; none for never. */
export function expirationIn(days: number): { expirationDate?: Timestamp } {
  return days === 0 ? {} : { expirationDate: timestampFromDate(new Date(Date.now() + days * DAY)) }
}
