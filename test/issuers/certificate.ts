/**
 * A certificate for loopback addresses, which is its own authority, of the servers that the tests start.
 */
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '../support/tls')

export const CERTIFICATE = join(FOLDER, 'first.cert.pem')
export const CERTIFICATE_KEY = join(FOLDER, 'first.key.pem')
