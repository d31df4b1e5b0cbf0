/**
 * Words in a row, such as roles, each of which can be removed, and a form that adds one.
 */
import { useState } from 'preact/hooks'
import { IconButton } from './buttons.tsx'
import { ConfirmDialog, InlineForm } from './dialogs.tsx'
import { type Choice, SelectField, TextField } from './fields.tsx'
import { usePage } from './page.tsx'

interface ChipsProps {
  /** What they are. */
  readonly label: string
  /** Whether that is shown as a heading, and not to a screen reader alone. */
  readonly hasHeading?: boolean
  /** What is said if there are none. */
  readonly empty?: string
  readonly items: readonly Chip[]
  /** Whether they can be removed and added. */
  readonly mayChange: boolean
  /** What removing one does, to be read before it is done. */
  readonly consequence: string
  /** Undefined: not here, or not yet. */
  readonly adding?: Adding | undefined
}

interface Chip {
  readonly name: string
  remove(): Promise<unknown>
}

/** How one is added. */
export interface Adding {
  readonly label: string
  add(item: string): Promise<unknown>
  /** Undefined: any text. */
  readonly choices?: readonly Choice<string>[]
}

export function Chips(props: ChipsProps) {
  const { label, hasHeading = false, empty = 'None.', items, mayChange, consequence, adding } = props
  const { open } = usePage()
  const ask = ({ name, remove }: Chip) =>
    open(
      <ConfirmDialog title={`Remove ${name}?`} verb="Remove" isDangerous change={remove}>
        <p>{consequence}</p>
      </ConfirmDialog>,
    )
  return (
    <div>
      {hasHeading && <h3>{label}</h3>}
      {items.length === 0 ? (
        <p class="quiet">{empty}</p>
      ) : (
        <ul class="chips" aria-label={label}>
          {items.map((item) => (
            <li key={item.name} class={mayChange ? 'chip' : 'chip is-fixed'}>
              {item.name}
              {mayChange && <IconButton name="close" label={`Remove ${item.name}`} onClick={() => ask(item)} />}
            </li>
          ))}
        </ul>
      )}
      {mayChange && adding !== undefined && <AddForm {...adding} />}
    </div>
  )
}

function AddForm({ label, add, choices }: Adding) {
  const [item, setItem] = useState('')
  if (choices?.length === 0) return null
  const field = { label, value: item, onChange: setItem, required: true }
  const change = async () => {
    await add(item)
    setItem('')
  }
  return (
    <InlineForm change={change}>
      {choices === undefined ? (
        <TextField {...field} />
      ) : (
        <SelectField {...field} choices={[['', 'Choose…'], ...choices]} />
      )}
    </InlineForm>
  )
}
