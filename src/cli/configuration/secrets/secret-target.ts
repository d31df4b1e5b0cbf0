/**
 * Where a new client secret is handed over to: `kubernetes://namespace/name`, `file:///path` or `command:program arguments`.
 */
import type { Credentials } from '../../../secret-files/credentials-file.ts'
import type { Io } from '../../io.ts'
import { commandTarget } from './command-target.ts'
import { fileTarget } from './file-target.ts'
import { kubernetesTarget } from './kubernetes-target.ts'

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
}

/** The target of a `generateSecret.into`, which has been checked. */
export function secretTarget(io: Pick<Io, 'env'>, into: string): SecretTarget {
  const { scheme = '', rest = '' } = /^(?<scheme>\w+):(?<rest>.*)$/s.exec(into)?.groups ?? {}
  switch (scheme) {
    case 'kubernetes':
      return kubernetesTarget(io, rest.slice('//'.length))
    case 'file':
      return fileTarget(into)
    case 'command':
      return commandTarget(io, rest)
    default:
      throw new Error(`${into} is no target for a secret`)
  }
}
