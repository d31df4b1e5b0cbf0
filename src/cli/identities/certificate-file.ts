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
const PRIVATE_KEY = /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/

/**
 * The first certificate in a PEM file, which is that of the client.
 *
 * @throws {Error} if there is none, if it has expired, or if the file has a private key, which belongs into no file that is handed around.
 */
export async function readCertificateFile(file: string): Promise<CertificateFacts> {
  const text = await readTextFile(file)
  if (PRIVATE_KEY.test(text))
    throw new Error(`${file} has a private key: nothing was sent; make a file with the certificate only`)
  const { raw, validToDate } = parse(text, file)
  if (validToDate.getTime() < Date.now()) {
    const end = validToDate.toISOString().replace(/\.\d+/, '')
    throw new Error(`the certificate in ${file} expired at ${end}: nothing was sent`)
  }
  return { thumbprint: hash('sha256', raw, 'base64url'), notAfter: validToDate }
}

function parse(text: string, file: string): X509Certificate {
  try {
    return new X509Certificate(CERTIFICATE.exec(text)?.[0] ?? '')
  } catch (cause) {
    throw new Error(`${file} has no certificate in PEM`, { cause })
  }
}
