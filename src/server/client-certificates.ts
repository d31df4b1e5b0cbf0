/**
 * Where certificates of clients come from, by the configuration.
 */
import type { Config } from '../config/config.ts'
import { type CertificateReader, createHandshakeReader, noCertificates } from '../http/tls/client-certificates.ts'

/** Makes the reader of the configured source. */
export function createCertificateReader({ mtls }: Pick<Config, 'mtls'>): CertificateReader {
  switch (mtls.source) {
    case 'off':
      return noCertificates
    case 'tls':
      return createHandshakeReader()
  }
}
