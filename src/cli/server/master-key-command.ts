/**
 * `keyturn master-key …`: generates and rotates the keys that seal the private keys in the database, and shows their use.
 */
import { Command } from 'commander'
import { generateMasterKey } from '../../crypto/master-keys.ts'
import type { SealedKey } from '../../domain/keys/sealed-keys.ts'
import type { masterKeyStatus, rotateMasterKeys } from '../../server/maintenance/reseal.ts'
import { namingCommands } from '../command-name.ts'
import type { Io } from '../io.ts'
import { formatTable } from '../table.ts'
import { runDatabaseCommand } from './database-command.ts'
import { withDatabaseFlags } from './serve-flags.ts'

const WITH_SETTINGS = 'Needs the settings of the server; an embedded database must not be in use.'

/** The group of commands. */
export function masterKeyCommand(io: Io): Command {
  const masterKey = new Command('master-key')
  masterKey
    .command('generate')
    .description('Print a new master key, for KEYTURN_MASTER_KEYS or KEYTURN_MASTER_KEYS_FILE. Keep it secret.')
    .action(() => {
      io.stdout.write(`${generateMasterKey()}\n`)
    })
  withDatabaseFlags(masterKey.command('rotate'))
    .description(
      `Seal every private key, and the integrity key, under the first master key, while servers serve. ${WITH_SETTINGS}`,
    )
    .action((options: Record<string, unknown>) =>
      runDatabaseCommand(io, options, async ({ config, log, signal }) => {
        const { rotateMasterKeys } = await import('../../server/maintenance/reseal.ts')
        const rotated = await rotateMasterKeys(config, log, signal)
        const { stillInUse, masterKeyId } = rotated
        if (stillInUse.length > 0) {
          io.stderr.write(
            `warning: a server sealed a new key with ${stillInUse.join(', ')} meanwhile: make ${masterKeyId} the first ` +
              'master key of every server, and run this again before you remove another one\n',
          )
        }
        io.stdout.write(`${namingCommands(describeRotation(rotated).join('\n'), io)}\n`)
      }),
    )
  withDatabaseFlags(masterKey.command('status'))
    .description(`Show which master key seals how many keys: private ones, and the integrity key. ${WITH_SETTINGS}`)
    .action((options: Record<string, unknown>) =>
      runDatabaseCommand(io, options, async ({ config, log, signal }) => {
        const { masterKeyStatus } = await import('../../server/maintenance/reseal.ts')
        const status = await masterKeyStatus(config, log, signal)
        io.stdout.write(`${describeStatus(status).join('\n')}\n`)
      }),
    )
  return masterKey
}

function describeRotation({
  total,
  resealed,
  masterKeyId,
  unused,
  stillInUse,
  generatedIn,
}: Awaited<ReturnType<typeof rotateMasterKeys>>): string[] {
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
    formatTable(['MASTER KEY', 'CONFIGURED', 'SEALS'], rows),
    ...lost.map(({ key, reason }) => {
      return `Cannot be opened: ${nameOf(key)}: ${reason}`
    }),
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
