/**
 * Every command of the command line, put together. Each group has a file of its own.
 */
import { Command } from 'commander'
import { readVersion } from '../config/version.ts'
import { auditCommand } from './audit-command.ts'
import { completionCommand } from './completion/completion-command.ts'
import { contextCommand } from './contexts/context-command.ts'
import { loginCommand } from './contexts/login-command.ts'
import { projectsCommand } from './identities/projects-command.ts'
import { secretsCommand } from './identities/secrets-command.ts'
import { usersCommand } from './identities/users-command.ts'
import type { Io } from './io.ts'
import { keysCommand } from './keys/keys-command.ts'
import { configCommand } from './server/config-command.ts'
import { demoCommand } from './server/demo-command.ts'
import { issuerCommand } from './server/issuer-command.ts'
import { masterKeyCommand } from './server/master-key-command.ts'
import { migrateCommand } from './server/migrate-command.ts'
import { recoverCommand } from './server/recover-command.ts'
import { serveCommand } from './server/serve-command.ts'
import { tokenCommand } from './token-command.ts'

/** The command line, not run yet. */
export function createProgram(io: Io): Command {
  const program = new Command('keyturn')
    .description(
      'Issues OAuth 2.0 access tokens to machines, and manages the machines and the keys that sign the tokens.',
    )
    .version(readVersion(), '-V, --version', 'print the version')
  for (const command of [
    serveCommand(io),
    demoCommand(io),
    migrateCommand(io),
    configCommand(io),
    loginCommand(io),
    contextCommand(io),
    projectsCommand(io),
    usersCommand(io),
    secretsCommand(io),
    keysCommand(io),
    tokenCommand(io),
    auditCommand(io),
    masterKeyCommand(io),
    issuerCommand(io),
    recoverCommand(io),
    completionCommand(io),
  ]) {
    program.addCommand(command)
  }
  return program
}
