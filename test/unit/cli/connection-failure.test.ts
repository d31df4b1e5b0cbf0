/**
 * Failures that a test cannot bring about over a connection. `test/api/cli/tls.test.ts` has the others.
 */
import { expect, it } from '@jest/globals'
import { connectionFailure } from '../../../src/cli/connection/connection-failure.ts'

const URL = 'https://tokens.example:8443/oauth/v2/token'
const NO_ALERT = 'write EPROTO 0:error:0A000410:SSL routines:ssl3_read_bytes:sslv3 alert handshake failure:../ssl.c:1:'

it.each([
  ['CERT_NOT_YET_VALID', 'its certificate is not valid now'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'no authority that is trusted has signed its certificate: name'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'no authority that is trusted has signed its certificate'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is for other names'],
  ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'it closed the connection: if it admits only clients with a certificate'],
  ['ECONNRESET', 'it closed the connection: if it admits only clients with a certificate'],
  ['ENOTFOUND', 'its name has no address: is it right?'],
  ['ETIMEDOUT', 'there was no answer in time'],
  ['EHOSTUNREACH', 'is the server running? "keyturn serve" starts it'],
  // The reason of OpenSSL is in the message.
  ['EPROTO', 'it closed the connection', NO_ALERT],
])('a connection that failed with %s says what to do', (code, advice, message = 'failed') => {
  const error = new Error('the call failed', { cause: Object.assign(new Error(message), { code }) })
  expect(connectionFailure(error, URL).message).toContain(`cannot reach ${URL} (${code}): ${advice}`)
})
