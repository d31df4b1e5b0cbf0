/**
 * Every command of the command line. Each group has a file of its own, which is loaded when a command line names it: that is half of the
 * time of a call.
 */
import { Command } from 'commander'
import { readVersion } from '../config/version.ts'
import type { Io } from './io.ts'

/** The command or the group of commands of a name. */
interface Group {
  readonly name: string
  readonly summary: string
  readonly load: () => Promise<(io: Io) => Command>
}

const GROUPS: readonly Group[] = [
  {
    name: 'serve',
    summary: 'Run the server. Settings are variables (see the README); some are flags too, and flags win.',
    load: async () => (await import('./server/serve-command.ts')).serveCommand,
  },
  {
    name: 'demo',
    summary: 'Play a key rotation through a real server on a free port, step by step. Nothing is kept.',
    load: async () => (await import('./server/demo-command.ts')).demoCommand,
  },
  {
    name: 'migrate',
    summary: 'Bring the schema of the database up to date. "keyturn serve" does it too when it starts.',
    load: async () => (await import('./server/migrate-command.ts')).migrateCommand,
  },
  {
    name: 'config',
    summary: 'Check the configuration and print it. Secrets are left out.',
    load: async () => (await import('./server/config-command.ts')).configCommand,
  },
  {
    name: 'health',
    summary: 'Ask the server that these settings describe whether it is ready: for health checks of containers.',
    load: async () => (await import('./server/health-command.ts')).healthCommand,
  },
  {
    name: 'login',
    summary:
      'Check credentials, store them as a context in the configuration folder of the user, and use it from now on. ' +
      'The secret is asked for at a terminal, and otherwise read from standard input.',
    load: async () => (await import('./contexts/login-command.ts')).loginCommand,
  },
  {
    name: 'context',
    summary: 'List, choose and remove the servers of "keyturn login".',
    load: async () => (await import('./contexts/context-command.ts')).contextCommand,
  },
  {
    name: 'plan',
    summary: 'Show what "keyturn apply" would change, and change nothing.',
    load: async () => (await import('./configuration/plan-command.ts')).planCommand,
  },
  {
    name: 'apply',
    summary:
      'Bring projects, users, trusted issuers and the rotation policy to the state that files describe, in one step.',
    load: async () => (await import('./configuration/apply-command.ts')).applyCommand,
  },
  {
    name: 'export',
    summary:
      'Print the instance, or some projects of it, as a file that "keyturn apply" takes back without a difference.',
    load: async () => (await import('./configuration/export-command.ts')).exportCommand,
  },
  {
    name: 'projects',
    summary: 'Manage projects, their roles, custom scopes and audiences.',
    load: async () => (await import('./identities/projects-command.ts')).projectsCommand,
  },
  {
    name: 'users',
    summary: 'Manage service users, what they may do, their keys and tokens.',
    load: async () => (await import('./identities/users-command.ts')).usersCommand,
  },
  {
    name: 'secrets',
    summary: 'Generate, list, deactivate and delete client secrets.',
    load: async () => (await import('./identities/secrets-command.ts')).secretsCommand,
  },
  {
    name: 'federation',
    summary: 'Manage which JWTs of other issuers prove a user, and check one.',
    load: async () => (await import('./federation/federation-command.ts')).federationCommand,
  },
  {
    name: 'keys',
    summary: 'Manage and rotate the keys that sign tokens.',
    load: async () => (await import('./keys/keys-command.ts')).keysCommand,
  },
  {
    name: 'token',
    summary: 'Print an access token for the credentials.',
    load: async () => (await import('./token-command.ts')).tokenCommand,
  },
  {
    name: 'console',
    summary: 'Sign in at the console in a browser: print a link that works once, for a minute, and open it.',
    load: async () => (await import('./console-command.ts')).consoleCommand,
  },
  {
    name: 'audit',
    summary: 'List what was changed and what was refused, newest first.',
    load: async () => (await import('./audit-command.ts')).auditCommand,
  },
  {
    name: 'webhooks',
    summary: 'Send events to other systems as they happen, and see how that goes.',
    load: async () => (await import('./events/webhooks-command.ts')).webhooksCommand,
  },
  {
    name: 'master-key',
    summary: 'Make, rotate and look after the keys that seal the private keys in the database.',
    load: async () => (await import('./server/master-key-command.ts')).masterKeyCommand,
  },
  {
    name: 'initial-credentials',
    summary:
      'Print credentials for the first administrator of an instance that does not exist yet, for KEYTURN_INITIAL_CREDENTIALS_FILE. Keep them secret.',
    load: async () => (await import('./server/initial-credentials-command.ts')).initialCredentialsCommand,
  },
  {
    name: 'issuer',
    summary: 'Show or change the issuer of the instance, which is the base URL of all its servers.',
    load: async () => (await import('./server/issuer-command.ts')).issuerCommand,
  },
  {
    name: 'recover',
    summary:
      'Make a new owner secret directly in the database when all are lost, and write the credentials file. ' +
      'Needs the settings of the server, with its master keys; an embedded database must not be in use.',
    load: async () => (await import('./server/recover-command.ts')).recoverCommand,
  },
]

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
  const named = GROUPS.find(({ name }) => name === argv?.find((word) => GROUPS.some((group) => group.name === word)))
  for (const group of GROUPS) {
    const isNeeded = argv === undefined || group === named
    const command = isNeeded ? (await group.load())(io) : new Command(group.name)
    program.addCommand(command.description(group.summary))
  }
  return program
}
