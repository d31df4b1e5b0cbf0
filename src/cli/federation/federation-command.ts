/**
 * `keyturn federation`: trusted issuers, the federated identities of users, and why a JWT is accepted or refused.
 */
import { Command } from 'commander'
import type { Io } from '../io.ts'
import { checkCommand } from './check-command.ts'
import { identitiesCommand } from './identities-command.ts'
import { issuersCommand } from './issuers-command.ts'

/** The group of commands. */
export function federationCommand(io: Io): Command {
  const federation = new Command('federation')
  federation.addCommand(issuersCommand(io))
  federation.addCommand(identitiesCommand(io))
  federation.addCommand(checkCommand(io))
  return federation
}
