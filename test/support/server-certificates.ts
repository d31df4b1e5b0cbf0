/**
 * Certificates for servers under test, by an authority that is made for the test.
 */
import { isIPv4 } from 'node:net'
import { authorityOf, certificateOf, SERVER_AUTH } from './certificates.ts'

/** A certificate with its private key, as PEM. */
export interface ServerCertificate {
  readonly cert: string
  readonly key: string
}

/** Whom a certificate is for, and when it is valid. */
export interface ServerCertificateOptions {
  /** Host names and IPv4 addresses. Default: `localhost` and 127.0.0.1. */
  readonly names?: readonly string[]
  /** Default: an hour ago. */
  readonly from?: Date
  /** Default: in a day. */
  readonly to?: Date
}

/** An authority. */
export interface TestAuthority {
  /** Its own certificate, as PEM. */
  readonly cert: string
  issue(options?: ServerCertificateOptions): ServerCertificate
}

/** Makes an authority. */
export function createAuthority(name = 'Test Authority'): TestAuthority {
  const authority = authorityOf(name)
  return {
    cert: authority.pem,
    issue: ({ names = ['localhost', '127.0.0.1'], from, to } = {}) => {
      const { pem, keyPem } = certificateOf({
        issuer: authority,
        subject: [['CN', 'server']],
        dns: names.filter((each) => !isIPv4(each)),
        addresses: names.filter(isIPv4),
        extendedKeyUsage: [SERVER_AUTH],
        ...(from === undefined ? {} : { notBefore: from }),
        ...(to === undefined ? {} : { notAfter: to }),
      })
      return { cert: pem, key: keyPem }
    },
  }
}
