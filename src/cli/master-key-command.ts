/**
 * `keyturn master-key generate`: a key that seals the private keys in the database.
 */
import { Command } from 'commander'
import { generateMasterKey } from '../crypto/master-keys.ts'

/** The group of commands. */
export function masterKeyCommand(): Command {
  const masterKey = new Command('master-key').description('Make the keys that seal the private keys in the database.')
  masterKey
    .command('generate')
    .description('Print a new master key, for KEYTURN_MASTER_KEYS or KEYTURN_MASTER_KEYS_FILE. Keep it secret.')
    .action(() => {
      process.stdout.write(`${generateMasterKey()}\n`)
    })
  return masterKey
}
