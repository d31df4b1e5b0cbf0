/**
 * `keyturn federation`: trusted issuers, the federated identities of users, and why a JWT is accepted or refused.
 */
import { group } from '../api-command.ts'
import { checkCommand } from './check-command.ts'
import { identitiesCommand } from './identities-command.ts'
import { issuersCommand } from './issuers-command.ts'

/** The group of commands. */
export const federationCommand = group('federation', '', [issuersCommand, identitiesCommand, checkCommand])
