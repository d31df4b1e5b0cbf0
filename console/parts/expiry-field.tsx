/**
 * The choice of when something stops working.
 */
import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { SelectField } from './field.tsx'

const DAY = 86_400_000
const NEVER = [0, 'never'] as const
const CHOICES = [7, 30, 90, 180, 365].map((days) => [days, `after ${days} days`] as const)

interface ExpiryFieldProps {
  /** In days; 0: never. */
  readonly days: number
  readonly canBeNever: boolean
  readonly onChange: (days: number) => void
}

export function ExpiryField({ days, canBeNever, onChange }: ExpiryFieldProps) {
  return (
    <SelectField
      label="Stops working"
      value={days}
      choices={canBeNever ? [NEVER, ...CHOICES] : CHOICES}
      onChange={onChange}
    />
  )
}

/** The field of a request with the date; none for never. */
export function expirationIn(days: number): { expirationDate?: Timestamp } {
  return days === 0 ? {} : { expirationDate: timestampFromDate(new Date(Date.now() + days * DAY)) }
}
