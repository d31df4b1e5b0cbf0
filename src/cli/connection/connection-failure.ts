/**
 * What is wrong with a connection to a server, and what to do about it.
 */
import type { TlsOptions } from './tls-files.ts'

/** A call that got no answer, or one that cannot be used. The message is for the user. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
}

/** Codes of OpenSSL and Node.js for a certificate of a server that no trusted authority has signed. */
const UNTRUSTED = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_UNTRUSTED',
]

/** Alerts (RFC 8446 §6.2) of a server that wants a client certificate and got none. */
const CLIENT_CERTIFICATE_MISSING = [
  'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
  'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE',
  'ERR_SSL_TLSV1_ALERT_HANDSHAKE_FAILURE',
]

/** Alerts of a server that does not take the client certificate. */
const CLIENT_CERTIFICATE_REFUSED = [
  'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
  'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE',
  'ERR_SSL_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE',
  'ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN',
  'ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED',
  'ERR_SSL_SSLV3_ALERT_CERTIFICATE_REVOKED',
  'ERR_SSL_TLSV1_ALERT_ACCESS_DENIED',
]

/** What answers in plain HTTP looks like to TLS. */
const PLAIN_HTTP = ['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'ERR_SSL_HTTP_REQUEST']

/** The error for a connection that failed with a code of the system, of OpenSSL or of Node.js. */
export function connectionFailure(error: unknown, url: string, { cert }: TlsOptions): ConnectionError {
  const code = connectionCode(error)
  const { protocol } = new URL(url)
  const isRefusal = code !== undefined && CLIENT_CERTIFICATE_REFUSED.includes(code)
  // A server of Node.js sends no alert.
  if (cert !== undefined && (isRefusal || (code === 'ECONNRESET' && protocol === 'https:'))) {
    return new ConnectionError(
      `cannot reach ${url} (${code}): the server does not take the client certificate: it must be valid, and signed by an ` +
        'authority of KEYTURN_TLS_CLIENT_CA_FILE of the server',
      { cause: error },
    )
  }
  return new ConnectionError(describe(code, new URL(url), url), { cause: error })
}

/** The code of the first error of a chain of causes that has one. Undefined: the connection did not fail. */
export function connectionCode(error: unknown): string | undefined {
  for (let link = error, depth = 0; link instanceof Error && depth < 5; link = link.cause, depth += 1) {
    // Of a signal; its code is a number.
    if (link instanceof DOMException && link.name === 'TimeoutError') return 'ETIMEDOUT'
    if ('code' in link && typeof link.code === 'string') return openSslCode(link) ?? link.code
  }
  return undefined
}

/** An error of TLS while something is written has its reason in its message only. The code is the one it has otherwise. */
function openSslCode({ message }: Error): string | undefined {
  const [, reason] = /EPROTO .*:SSL routines:[^:]*:([a-z0-9 ]+)/.exec(message) ?? []
  return reason === undefined ? undefined : `ERR_SSL_${reason.toUpperCase().replaceAll(' ', '_')}`
}

function describe(code: string | undefined, { hostname, host, protocol }: URL, url: string): string {
  const reason = code === undefined ? '' : ` (${code})`
  const reached = `cannot reach ${url}${reason}`
  if (code === undefined) return `${reached}: is the server running? "keyturn serve" starts it`
  if (UNTRUSTED.includes(code)) {
    return (
      `${reached}: no authority that is trusted has signed the certificate of ${host}: ` +
      'name the certificate of its authority with --ca or KEYTURN_CA_FILE'
    )
  }
  if (code === 'CERT_HAS_EXPIRED') {
    return `${reached}: the certificate of ${host} has expired, or the clock of this machine is wrong: renew the certificate`
  }
  if (code === 'CERT_NOT_YET_VALID') {
    return `${reached}: the certificate of ${host} is not valid yet: is the clock of this machine wrong?`
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `${reached}: the certificate of ${host} is for other names: use one that it names, or put ${hostname} into it`
  }
  if (CLIENT_CERTIFICATE_MISSING.includes(code)) {
    return `${reached}: the server admits only clients with a certificate: give one with --client-cert and --client-key`
  }
  if (PLAIN_HTTP.includes(code)) return `${reached}: ${host} speaks HTTP without TLS: its address begins with http://`
  if (code === 'ETIMEDOUT') {
    return `${reached}: there was no answer in time: is the address right, and does a firewall let it through?`
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `${reached}: ${hostname} has no address: is the name right?`
  if (code === 'ECONNRESET') {
    return protocol === 'http:'
      ? `${reached}: the server closed the connection: does its address begin with https://?`
      : `${reached}: the server closed the connection: if it admits only clients with a certificate, give one with --client-cert and --client-key`
  }
  return `${reached}: is the server running? "keyturn serve" starts it`
}
