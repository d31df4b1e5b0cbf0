/**
 * The field for the name of a project.
 */
import { Field } from '../parts/field.tsx'

interface ProjectNameFieldProps {
  readonly name: string
  readonly onChange: (name: string) => void
}

export function ProjectNameField({ name, onChange }: ProjectNameFieldProps) {
  return (
    <Field label="Name" hint="Small letters, digits and hyphens. It is a part of the client IDs of its users.">
      {(id) => (
        <input
          id={id}
          type="text"
          required
          autocomplete="off"
          spellcheck={false}
          value={name}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  )
}
