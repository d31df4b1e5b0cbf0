/**
 * Every command of the command line, put together. Each group has a file of its own.
 */
import { Command } from 'commander'
import { auditCommand } from './audit-command.ts'
import { configCommand } from './config-command.ts'
import { demoCommand } from './demo-command.ts'
import { issuerCommand } from './issuer-command.ts'
import { keysCommand } from './keys-command.ts'
import { masterKeyCommand } from './master-key-command.ts'
import { migrateCommand } from './migrate-command.ts'
import { projectsCommand } from './projects-command.ts'
import { recoverCommand } from './recover-command.ts'
import { secretsCommand } from './secrets-command.ts'
import { serveCommand } from './serve-command.ts'
import { tokenCommand } from './token-command.ts'
import { usersCommand } from './users-command.ts'

/** The command line, not run yet. */
export function createProgram(): Command {
  const program = new Command('keyturn').description(
    'Issues OAuth 2.0 access tokens to machines, and manages the machines and the keys that sign the tokens.',
  )
  for (const command of [
    serveCommand(),
    demoCommand(),
    migrateCommand(),
    configCommand(),
    projectsCommand(),
    usersCommand(),
    secretsCommand(),
    keysCommand(),
    tokenCommand(),
    auditCommand(),
    masterKeyCommand(),
    issuerCommand(),
    recoverCommand(),
  ]) {
    program.addCommand(command)
  }
  return program
}
