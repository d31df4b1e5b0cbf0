/**
 * The field for the name of a project.
 */
import { TextField } from '../parts/field.tsx'

interface ProjectNameFieldProps {
  readonly name: string
  readonly onChange: (name: string) => void
}

export function ProjectNameField({ name, onChange }: ProjectNameFieldProps) {
  return (
    <TextField
      label="Name"
      hint="Small letters, digits and hyphens. It is a part of the client IDs of its users."
      required
      spellcheck={false}
      value={name}
      onChange={onChange}
    />
  )
}
