/**
 * `keyturn issuer …`: shows the base URL that all servers of the instance must have, and changes it on purpose.
 */
import { Argument, Command, InvalidArgumentError } from 'commander'
import { parseBaseUrl } from '../../config/base-url.ts'
import type { Io } from '../io.ts'
import { runDatabaseCommand } from './database-command.ts'
import { withDatabaseFlags } from './serve-flags.ts'

const DIRECTLY = 'Works on the database: needs the settings of the server, and an embedded database must not be in use.'

/** The group of commands. */
export function issuerCommand(io: Io): Command {
  const issuer = new Command('issuer')
  withDatabaseFlags(issuer.command('show'))
    .description(`Print the issuer. ${DIRECTLY}`)
    .action((options: Record<string, unknown>) =>
      runDatabaseCommand(io, options, async ({ config, log }) => {
        const { storedIssuer } = await import('../../server/maintenance/issuer.ts')
        const stored = await storedIssuer(config, log)
        io.stdout.write(`${stored ?? 'None is stored: the next server that starts stores its base URL.'}\n`)
      }),
    )
  withDatabaseFlags(issuer.command('change'))
    .addArgument(new Argument('<url>', 'the new base URL').argParser(parseUrl))
    .description(`Make another base URL the issuer. ${DIRECTLY} Servers must be started again with it.`)
    .action((url: string, options: Record<string, unknown>) =>
      runDatabaseCommand(io, { ...options, baseUrl: url }, async ({ config, log }) => {
        const next = config.baseUrl ?? url
        const { replaceIssuer } = await import('../../server/maintenance/issuer.ts')
        const before = await replaceIssuer(config, next, log)
        io.stdout.write(before === next ? `The issuer is ${next} already.\n` : describeChange(before, next))
      }),
    )
  return issuer
}

function parseUrl(text: string): string {
  return parseBaseUrl(text, (problem) => {
    throw new InvalidArgumentError(`It ${problem}.`)
  })
}

function describeChange(before: string | null, next: string): string {
  return [
    `The issuer is ${next} now; before, ${before === null ? 'none was stored' : `it was ${before}`}.`,
    `Next: start every server again with KEYTURN_BASE_URL=${next}. Those that run make no more changes, and stop issuing`,
    'tokens after KEYTURN_MAX_STALENESS. Verifiers must expect the new issuer, and clients ask for tokens there.',
    '',
  ].join('\n')
}
