/**
 * The files that the configuration names, looked at before anything starts.
 */
import { type Config, ConfigError } from '../config/config.ts'
import { readCertificate } from '../http/tls/tls-files.ts'
import { masterKeyFile } from '../secret-files/master-key-source.ts'

/**
 * Reads every file that must be there: master keys, certificate and key. A generated master key is not one of them.
 *
 * @throws {ConfigError} that names all that cannot be used.
 */
export async function checkConfigFiles(config: Config): Promise<void> {
  const checks = [
    config.masterKeys.kind === 'file' ? masterKeyFile(config.masterKeys.path).load({ mayGenerate: false }) : undefined,
    config.tls === null ? undefined : readCertificate(config.tls),
  ]
  const outcomes = await Promise.allSettled(checks)
  const problems = outcomes
    .filter((outcome) => outcome.status === 'rejected')
    .map(({ reason }) => String(reason.message))
  if (problems.length > 0) throw new ConfigError(problems)
}
