/**
 * Where a new client secret is handed over to: `file:///path` or `command:program arguments`.
 */
import type { Credentials } from '../../../secret-files/credentials-file.ts'
import type { Io } from '../../io.ts'
import { commandTarget } from './command-target.ts'
import { fileTarget } from './file-target.ts'

/** Whether something is at a target. `unknown`: it cannot be asked. */
export type TargetState = 'empty' | 'taken' | 'unknown'

/** A place for one secret. */
export interface SecretTarget {
  /** @throws {Error} if the target cannot be used. */
  look(): Promise<TargetState>
  /**
   * Stores credentials there, and replaces nothing.
   *
   * @throws {Error} that does not contain the secret.
   */
  handOver(credentials: Credentials): Promise<void>
  /** Removes copies of a secret that an apply which was killed left beside the target. No secret may be being handed over. */
  cleanUp(): Promise<void>
}

/** The target of a `generateSecret.into`, which has been checked. */
export function secretTarget(io: Pick<Io, 'env'>, into: string): SecretTarget {
  return into.startsWith('file:') ? fileTarget(into) : commandTarget(io, into.slice('command:'.length))
}
