/**
 * Files with certificates of clients.
 */
import { hash, X509Certificate } from 'node:crypto'
import { readTextFile } from '../text-file.ts'

/** A certificate, as the API takes it. */
export interface CertificateFacts {
  /** The SHA-256 in base64url. */
  readonly thumbprint: string
  /** The end of its validity. */
  readonly notAfter: Date
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/

/** The first certificate in a PEM file, which is that of the client. @throws {Error} if there is none. */
export async function readCertificateFile(file: string): Promise<CertificateFacts> {
  const text = await readTextFile(file)
  try {
    const { raw, validToDate } = new X509Certificate(CERTIFICATE.exec(text)?.[0] ?? '')
    return { thumbprint: hash('sha256', raw, 'base64url'), notAfter: validToDate }
  } catch (cause) {
    throw new Error(`${file} has no certificate in PEM`, { cause })
  }
}
