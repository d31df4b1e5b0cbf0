/**
 * Every command of the command line. Each group has a file of its own, which is loaded when a command line names it: that is half of the
 * time of a call.
 */
import { Command } from 'commander'
import { readVersion } from '../config/version.ts'
import type { Io } from './io.ts'

const SUMMARIES = {
  serve: 'Run the server. Settings are variables (see the README); some are flags too, and flags win.',
  demo: 'Play a key rotation through a real server on a free port, step by step. Nothing is kept.',
  migrate: 'Bring the schema of the database up to date. "keyturn serve" does it too when it starts.',
  config: 'Check the configuration and print it. Secrets are left out.',
  health: 'Ask the server that these settings describe whether it is ready: for health checks of containers.',
  login:
    'Check credentials, store them as a context in the configuration folder of the user, and use it from now on. ' +
    'The secret is asked for at a terminal, and otherwise read from standard input.',
  context: 'List, choose and remove the servers of "keyturn login".',
  plan: 'Show what "keyturn apply" would change, and change nothing.',
  apply:
    'Bring projects, users, trusted issuers and the rotation policy to the state that files describe, in one step.',
  export: 'Print the instance, or some projects of it, as a file that "keyturn apply" takes back without a difference.',
  projects: 'Manage projects, their roles, custom scopes and audiences.',
  users: 'Manage service users, what they may do, their keys and tokens.',
  secrets: 'Generate, list, deactivate and delete client secrets.',
  federation: 'Manage which JWTs of other issuers prove a user, and check one.',
  keys: 'Manage and rotate the keys that sign tokens.',
  token: 'Print an access token for the credentials.',
  console: 'Sign in at the console in a browser: print a link that works once, for a minute, and open it.',
  audit: 'List what was changed and what was refused, newest first.',
  webhooks: 'Send events to other systems as they happen, and see how that goes.',
  'master-key': 'Make, rotate and look after the keys that seal the private keys in the database.',
  'initial-credentials':
    'Print credentials for the first administrator of an instance that does not exist yet, for KEYTURN_INITIAL_CREDENTIALS_FILE. Keep them secret.',
  issuer: 'Show or change the issuer of the instance, which is the base URL of all its servers.',
  recover:
    'Make a new owner secret directly in the database when all are lost, and write the credentials file. ' +
    'Needs the settings of the server, with its master keys; an embedded database must not be in use.',
}

type Name = keyof typeof SUMMARIES

const LOADERS: Readonly<Record<Name, () => Promise<(io: Io) => Command>>> = {
  serve: async () => (await import('./server/serve-command.ts')).serveCommand,
  demo: async () => (await import('./server/demo-command.ts')).demoCommand,
  migrate: async () => (await import('./server/operator-commands.ts')).migrateCommand,
  config: async () => (await import('./server/operator-commands.ts')).configCommand,
  health: async () => (await import('./server/health-command.ts')).healthCommand,
  login: async () => (await import('./contexts-commands.ts')).loginCommand,
  context: async () => (await import('./contexts-commands.ts')).contextCommand,
  plan: async () => (await import('./configuration/plan-command.ts')).planCommand,
  apply: async () => (await import('./configuration/apply-command.ts')).applyCommand,
  export: async () => (await import('./configuration/export-command.ts')).exportCommand,
  projects: async () => (await import('./identities/projects-command.ts')).projectsCommand,
  users: async () => (await import('./identities/users-command.ts')).usersCommand,
  secrets: async () => (await import('./identities/credentials-commands.ts')).secretsCommand,
  federation: async () => (await import('./federation/federation-command.ts')).federationCommand,
  keys: async () => (await import('./keys/keys-command.ts')).keysCommand,
  token: async () => (await import('./token-command.ts')).tokenCommand,
  console: async () => (await import('./console-command.ts')).consoleCommand,
  audit: async () => (await import('./audit-command.ts')).auditCommand,
  webhooks: async () => (await import('./events/webhooks-command.ts')).webhooksCommand,
  'master-key': async () => (await import('./server/operator-commands.ts')).masterKeyCommand,
  'initial-credentials': async () => (await import('./server/operator-commands.ts')).initialCredentialsCommand,
  issuer: async () => (await import('./server/operator-commands.ts')).issuerCommand,
  recover: async () => (await import('./server/operator-commands.ts')).recoverCommand,
}

/**
 * The command line, not run yet.
 *
 * @param argv The arguments that it will run with. Of all groups but the one that they name it has names and summaries only. Default: it
 * has all groups whole.
 */
export async function createProgram(io: Io, argv?: readonly string[]): Promise<Command> {
  const program = new Command('keyturn')
    .description(
      'Issues OAuth 2.0 access tokens to machines, and manages the machines and the keys that sign the tokens.',
    )
    .version(readVersion(), '-V, --version', 'print the version')
    // Options behind the name of a command are those of the command, also where it has subcommands with the same ones.
    .enablePositionalOptions()
    .configureHelp({ subcommandTerm: (command) => command.name() })
  const named = argv?.find((word) => Object.hasOwn(SUMMARIES, word))
  for (const [name, summary] of Object.entries(SUMMARIES) as [Name, string][]) {
    const command = argv === undefined || name === named ? (await LOADERS[name]())(io) : new Command(name)
    program.addCommand(command.description(summary))
  }
  return program
}
