/** Which schemas this version of Keyturn can work with: all of its own major version. See `migrate.ts` for the rule. */
import { DomainError } from '../../domain/errors.ts'

/** The major version of the schema. A migration that would break older programs raises it. */
const SCHEMA_MAJOR = 1

/** A newer major version of Keyturn has changed the database. Waiting does not help. */
export class NewerSchema extends DomainError {
  constructor(major: number) {
    super(
      'storage_unavailable',
      `a newer version of Keyturn has changed the database (schema ${major}, this version knows ${SCHEMA_MAJOR}): ` +
        'run the newer version here too, or restore the backup from before the upgrade',
    )
  }
}

/** @throws {NewerSchema} */
export function assertKnownSchema(major: number): void {
  if (major > SCHEMA_MAJOR) throw new NewerSchema(major)
}
