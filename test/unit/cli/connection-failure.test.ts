/**
 * Failures that a test cannot bring about over a connection. `test/api/cli/tls.test.ts` has the others.
 */
import { describe, expect, it } from '@jest/globals'
import { connectionFailure } from '../../../src/cli/connection/connection-failure.ts'

const URL = 'https://tokens.example:8443/oauth/v2/token'

/** The message for an error of Node.js. */
function messageFor(code: string, { message = 'failed', url = URL, cert }: Partial<Record<string, string>> = {}) {
  const error = new Error('the call failed', { cause: Object.assign(new Error(message), { code }) })
  return connectionFailure(error, url, cert === undefined ? {} : { cert }).message
}

describe('a connection that failed', () => {
  it.each([
    [
      'CERT_NOT_YET_VALID',
      'the certificate of tokens.example:8443 is not valid yet: is the clock of this machine wrong?',
    ],
    [
      'SELF_SIGNED_CERT_IN_CHAIN',
      'no authority that is trusted has signed the certificate of tokens.example:8443: name',
    ],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'no authority that is trusted has signed the certificate'],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'the server admits only clients with a certificate: give one with'],
    ['ENOTFOUND', 'tokens.example has no address: is the name right?'],
    ['ETIMEDOUT', 'there was no answer in time'],
    ['ECONNRESET', 'the server closed the connection: if it admits only clients with a certificate, give one'],
    ['EHOSTUNREACH', 'is the server running? "keyturn serve" starts it'],
  ])('with %s says what to do', (code, advice) => {
    expect(messageFor(code)).toContain(`cannot reach ${URL} (${code}): ${advice}`)
  })

  it.each([['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA'], ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED']])(
    'with %s is one of the client certificate, if there is one',
    (code) => {
      expect(messageFor(code, { cert: 'PEM' })).toContain('the server does not take the client certificate')
    },
  )

  it('has the reason of OpenSSL where Node.js says EPROTO', () => {
    const message =
      'write EPROTO 0:error:0A000410:SSL routines:ssl3_read_bytes:sslv3 alert handshake failure:../ssl.c:1:'
    expect(messageFor('EPROTO', { message })).toContain(
      '(ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE): the server admits only',
    )
  })
})
