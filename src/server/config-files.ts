/** The files that the configuration names. */

import { type Config, ConfigError } from '../config/config.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { readCertificate } from '../http/tls/tls-files.ts'
import { OAUTH_PATHS } from '../oauth/requests/endpoints.ts'
import { type CredentialsFile, credentialsFile } from '../secret-files/credentials-file.ts'
import { masterKeyFile } from '../secret-files/master-key-source.ts'
import { readAuthorities } from './client-certificates.ts'
import { readOpenIdSecret } from './console.ts'

/**
 * Reads every file that must exist before a start: master keys, certificate and key, authorities of client certificates, and the secret of the
 * OpenID client. A generated master key need not.
 * @throws {ConfigError} that names every file that cannot be used.
 */
export async function checkConfigFiles(config: Config): Promise<void> {
  const checks = [
    config.masterKeys.kind === 'file' ? masterKeyFile(config.masterKeys.path).load({ mayGenerate: false }) : undefined,
    config.tls === null ? undefined : readCertificate(config.tls),
    config.mtls.caFile === null ? undefined : readAuthorities(config.mtls.caFile),
    config.openId === null || config.openId.clientSecretFile === null
      ? undefined
      : readOpenIdSecret(config.openId.clientSecretFile),
  ]
  const outcomes = await Promise.allSettled(checks)
  const problems = outcomes
    .filter((outcome) => outcome.status === 'rejected')
    .map(({ reason }) => String(reason.message))
  if (problems.length > 0) throw new ConfigError(problems)
}

/** The file for the credentials of the first administrator, or of a recovered one. */
export function adminCredentialsFile({ credentialsFile: path }: Config, baseUrl: string, log: Log): CredentialsFile {
  const onKept = (kept: string) => log.warn({ kept }, 'the credentials file that was there was renamed')
  return credentialsFile({ path, onKept, baseUrl, tokenEndpoint: baseUrl + OAUTH_PATHS.token })
}
