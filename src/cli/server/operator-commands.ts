/**
 * Commands for the operator of a server, which call no server: they check its configuration, make its secrets, and work on its database.
 */
import { randomUUID } from 'node:crypto'
import { Argument, Command } from 'commander'
import type { Config } from '../../config/config.ts'
import type { SealedKey } from '../../domain/keys/sealed-keys.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Credentials } from '../../secret-files/credentials-file.ts'
import type { masterKeyStatus, rotateMasterKeys } from '../../server/maintenance/reseal.ts'
import type { Io } from '../io.ts'
import { parseUrl } from '../options.ts'
import { formatTable, type OutputOptions, printResult, withOutputOptions } from '../output.ts'
import { configFrom, withSettingFlags } from './setting-flags.ts'

/** How long the last lines of the log may take to be written, in milliseconds. */
const LOG_GRACE = 1_000

/** The settings with a flag that commands use which work directly on the database. */
const DATABASE = ['KEYTURN_DATABASE_URL', 'KEYTURN_DATA_DIR']
/** The settings of what the credentials file says, and of where it is. */
const CREDENTIALS = ['KEYTURN_LISTEN', 'KEYTURN_BASE_URL', 'KEYTURN_CREDENTIALS']

/** Of the project that the first administrator belongs to. */
const PROJECT_NAME = 'keyturn'

const WITH_SETTINGS = 'Needs the settings of the server; an embedded database must not be in use.'
const DIRECTLY = 'Works on the database: needs the settings of the server, and an embedded database must not be in use.'

const RECOVERED = {
  none: '',
  enabled: ' It was disabled and is enabled now.',
  created: ' There was no owner that could be given a secret, so it was created.',
} as const

export function configCommand(io: Io): Command {
  return withOutputOptions(withSettingFlags(new Command('config'))).action(
    async (options: Record<string, unknown> & OutputOptions) => {
      const { checkConfigFiles } = await import('../../server/config-files.ts')
      const config = configFrom(io, options)
      await checkConfigFiles(config)
      const lines = Object.entries(config.shown).map(([variable, value]) => `${variable}=${value ?? ''}`)
      await printResult(io, options, config.shown, () => lines.join('\n'))
    },
  )
}

/** Credentials for the first administrator of an instance that does not exist yet. */
export function initialCredentialsCommand(io: Io): Command {
  return new Command('initial-credentials')
    .argument('<base-url>', 'base URL of the servers that will be started with them')
    .action(async (text: string) => {
      const [{ OAUTH_PATHS }, { newClientSecret }, { formatClientId }] = await Promise.all([
        import('../../oauth/requests/endpoints.ts'),
        import('../../crypto/secrets.ts'),
        import('../../domain/identities/client-id.ts'),
      ])
      const baseUrl = configFrom({ env: {} }, { baseUrl: text }).baseUrl ?? text
      const credentials: Credentials = {
        base_url: baseUrl,
        token_endpoint: baseUrl + OAUTH_PATHS.token,
        client_id: formatClientId({ userId: randomUUID(), projectName: PROJECT_NAME }),
        client_secret: newClientSecret(),
      }
      io.stdout.write(`${JSON.stringify(credentials, null, 2)}\n`)
    })
}

/** Brings the schema of the database up to date without starting a server. */
export function migrateCommand(io: Io): Command {
  return databaseCommand(new Command('migrate'), io, async ({ config, log, signal }) => {
    const { migrateDatabase } = await import('../../server/database.ts')
    const applied = await migrateDatabase(config, log, signal)
    return applied.length === 0 ? 'The schema is up to date.' : `Applied: ${applied.join(', ')}.`
  })
}

/** Restores access for the operator when the secret of every owner is lost. */
export function recoverCommand(io: Io): Command {
  return databaseCommand(withSettingFlags(new Command('recover'), CREDENTIALS), io, async ({ config, log, signal }) => {
    const { recoverOwner } = await import('../../server/maintenance/recover.ts')
    const { clientId, change } = await recoverOwner(config, log, signal)
    return [
      `A new secret of the owner ${clientId} was written to ${config.credentialsFile}.${RECOVERED[change]}`,
      'Next: look through the secrets of the owners, and deactivate those that may be in wrong hands.',
    ].join('\n')
  })
}

/** Shows the base URL that all servers of the instance must have, and changes it on purpose. */
export function issuerCommand(io: Io): Command {
  const issuer = new Command('issuer')
  const show = issuer.command('show').description(`Print the issuer. ${DIRECTLY}`)
  databaseCommand(show, io, async ({ config, log }) => {
    const { storedIssuer } = await import('../../server/maintenance/issuer.ts')
    return (await storedIssuer(config, log)) ?? 'None is stored: the next server that starts stores its base URL.'
  })
  const change = issuer
    .command('change')
    .addArgument(new Argument('<url>', 'the new base URL').argParser(parseUrl))
    .description(`Make another base URL the issuer. ${DIRECTLY} Servers must be started again with it.`)
  databaseCommand(change, io, async ({ config, log }, url = '') => {
    const next = config.baseUrl ?? url
    const { replaceIssuer } = await import('../../server/maintenance/issuer.ts')
    const before = await replaceIssuer(config, next, log)
    if (before === next) return `The issuer is ${next} already.`
    return [
      `The issuer is ${next} now; before, ${before === null ? 'none was stored' : `it was ${before}`}.`,
      `Next: start every server again with KEYTURN_BASE_URL=${next}. Those that run make no more changes, and stop issuing`,
      'tokens after KEYTURN_MAX_STALENESS. Verifiers must expect the new issuer, and clients ask for tokens there.',
    ].join('\n')
  })
  return issuer
}

/** Generates and rotates the keys that seal the private keys in the database, and shows their use. */
export function masterKeyCommand(io: Io): Command {
  const masterKey = new Command('master-key')
  masterKey
    .command('generate')
    .description('Print a new master key, for KEYTURN_MASTER_KEYS or KEYTURN_MASTER_KEYS_FILE. Keep it secret.')
    .action(async () => {
      const { generateMasterKey } = await import('../../crypto/master-keys.ts')
      io.stdout.write(`${generateMasterKey()}\n`)
    })
  const rotate = masterKey
    .command('rotate')
    .description(
      `Seal every private key, and the integrity key, under the first master key, while servers serve. ${WITH_SETTINGS}`,
    )
  databaseCommand(rotate, io, async ({ config, log, signal }) => {
    const { rotateMasterKeys } = await import('../../server/maintenance/reseal.ts')
    const rotated = await rotateMasterKeys(config, log, signal)
    const { stillInUse, masterKeyId } = rotated
    if (stillInUse.length > 0) {
      io.stderr.write(
        `warning: a server sealed a new key with ${stillInUse.join(', ')} meanwhile: make ${masterKeyId} the first ` +
          'master key of every server, and run this again before you remove another one\n',
      )
    }
    return describeRotation(rotated).join('\n')
  })
  const status = masterKey
    .command('status')
    .description(`Show which master key seals how many keys: private ones, and the integrity key. ${WITH_SETTINGS}`)
  databaseCommand(status, io, async ({ config, log, signal }) => {
    const { masterKeyStatus } = await import('../../server/maintenance/reseal.ts')
    return describeStatus(await masterKeyStatus(config, log, signal)).join('\n')
  })
  return masterKey
}

interface Given {
  readonly config: Config
  /** Goes to standard error. */
  readonly log: Log
  readonly signal: AbortSignal
}

/** Makes a command work directly on the database, and print what comes of it. @param work Gets the argument of the command, a base URL. */
function databaseCommand(command: Command, io: Io, work: (given: Given, baseUrl?: string) => Promise<string>): Command {
  return withSettingFlags(command, DATABASE).action(async () => {
    const [baseUrl] = command.processedArgs as [string?]
    const config = configFrom(io, { ...command.opts(), ...(baseUrl === undefined ? {} : { baseUrl }) })
    // Imported here, as the server is by each command: commands that call the API start twice as fast without either.
    const [{ createLog }, { LogOutput }] = await Promise.all([
      import('../../telemetry/log/log.ts'),
      import('../../telemetry/log/log-output.ts'),
    ])
    const log = createLog(config.logLevel, new LogOutput(io.stderr))
    try {
      const result = await work({ config, log, signal: io.signal ?? new AbortController().signal }, baseUrl)
      io.stdout.write(`${result}\n`)
    } finally {
      await log.written(LOG_GRACE)
    }
  })
}

function describeRotation(rotated: Awaited<ReturnType<typeof rotateMasterKeys>>): string[] {
  const { total, resealed, masterKeyId, unused, stillInUse, generatedIn } = rotated
  const done =
    resealed === 0
      ? `All ${total} keys were sealed by ${masterKeyId} already.`
      : `${resealed} of ${total} keys were sealed anew; all of them are sealed by ${masterKeyId} now.`
  if (generatedIn !== null) return [done, `${generatedIn} has only that one now.`]
  if (unused.length > 0) {
    const removable = unused.filter((id) => !stillInUse.includes(id))
    return [done, ...removable.map((id) => `The master key ${id} seals nothing any more: remove it from every server.`)]
  }
  return resealed > 0 ? [done] : [done, 'To rotate, put a new master key before it: see "keyturn master-key generate".']
}

function describeStatus({ uses, lost }: Awaited<ReturnType<typeof masterKeyStatus>>): string[] {
  const rows = uses.map(({ masterKeyId, configured, sealedKeys }) => [
    masterKeyId ?? '(unreadable)',
    configured,
    String(sealedKeys),
  ])
  return [
    ...formatTable({ heading: ['MASTER KEY', 'CONFIGURED', 'SEALS'], rows }),
    ...lost.map(({ key, reason }) => `Cannot be opened: ${nameOf(key)}: ${reason}`),
  ]
}

function nameOf(key: SealedKey): string {
  switch (key.kind) {
    case 'integrity_key':
      return 'integrity key'
    case 'web_key':
      return `web key ${key.keyId}`
    case 'webhook_secret':
      return `secret of webhook ${key.webhookId}`
  }
}
