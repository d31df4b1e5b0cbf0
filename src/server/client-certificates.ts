/** Certificates of clients, by the configuration: where they come from, and what verifies them. */
import { readFile } from 'node:fs/promises'
import type { Config } from '../config/config.ts'
import type { CertificateContent } from '../crypto/certificate-content.ts'
import { createClientCertificateVerifier, parseAuthorities } from '../crypto/client-certificate.ts'
import { messageOf } from '../domain/errors.ts'
import type { Log } from '../domain/ports/runtime.ts'
import type { ClientCertificateVerifier } from '../domain/ports/verification.ts'
import { createHeaderReader } from '../http/requests/certificate-headers.ts'
import { type CertificateReader, createHandshakeReader, noCertificates } from '../http/tls/client-certificates.ts'
import { reloadOnChange } from '../http/tls/tls-files.ts'
import type { CleanupStack } from './cleanup-stack.ts'

export function createCertificateReader({
  mtls,
  trustedProxies,
}: Pick<Config, 'mtls' | 'trustedProxies'>): CertificateReader {
  switch (mtls.source) {
    case 'off':
      return noCertificates
    case 'tls':
      return createHandshakeReader()
    default:
      return createHeaderReader(mtls.source, trustedProxies)
  }
}

/**
 * Makes what verifies certificates, with the authorities of the configured file as it is at any time. An unusable file is logged, and
 * the authorities before it stay in use.
 * @returns Undefined if certificates do not count.
 * @throws {Error} that names the file, if it cannot be used at the start.
 */
export async function openCertificateVerifier(
  { mtls: { source, caFile } }: Pick<Config, 'mtls'>,
  { log, stack }: { readonly log: Log; readonly stack: CleanupStack },
): Promise<ClientCertificateVerifier | undefined> {
  if (source === 'off') return undefined
  if (caFile === null) return createClientCertificateVerifier(() => null)
  let authorities = await readAuthorities(caFile)
  const stop = reloadOnChange([caFile], {
    read: () => readAuthorities(caFile),
    onRead: (read) => {
      authorities = read
      log.info({ caFile }, 'the authorities of client certificates were reloaded')
    },
    onFailure: (error) => log.warn({ err: error }, 'the authorities of client certificates were not reloaded'),
  })
  stack.defer(stop)
  return createClientCertificateVerifier(() => authorities)
}

/** The authorities in `KEYTURN_MTLS_CA_FILE`. @throws {Error} that names the file, if it cannot be used. */
export async function readAuthorities(caFile: string): Promise<readonly CertificateContent[]> {
  try {
    return parseAuthorities(await readFile(caFile, 'utf8'))
  } catch (error) {
    throw new Error(`cannot use KEYTURN_MTLS_CA_FILE ${caFile}: ${messageOf(error)}`, { cause: error })
  }
}
