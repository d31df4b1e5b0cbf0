/**
 * What is wrong with a connection to a server, and what to do about it.
 */
import type { TlsOptions } from './tls-files.ts'

/** A call that got no answer, or one that cannot be used. The message is for the user. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
}

const GIVE_CERTIFICATE = 'give one with --client-cert and --client-key'

/** Alerts (RFC 8446 §6.2) of a server that does not take the client certificate. */
const CLIENT_CERTIFICATE_REFUSED =
  /^ERR_SSL_.+_ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_(UNKNOWN|EXPIRED|REVOKED)|ACCESS_DENIED)$/

/** The error for a connection that failed with a code of the system, of OpenSSL or of Node.js. */
export function connectionFailure(error: unknown, url: string, { cert }: TlsOptions): ConnectionError {
  const code = connectionCode(error) ?? ''
  const parsed = new URL(url)
  // A server of Node.js sends no alert.
  const mayRefuse = CLIENT_CERTIFICATE_REFUSED.test(code) || (code === 'ECONNRESET' && parsed.protocol === 'https:')
  const advice =
    cert !== undefined && mayRefuse
      ? 'the server does not take the client certificate: it must be valid, and signed by an authority of ' +
        'KEYTURN_TLS_CLIENT_CA_FILE of the server'
      : adviceFor(code, parsed)
  return new ConnectionError(`cannot reach ${url}${code === '' ? '' : ` (${code})`}: ${advice}`, { cause: error })
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

function adviceFor(code: string, { hostname, host, protocol }: URL): string {
  switch (code) {
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'CERT_UNTRUSTED':
      return `no authority that is trusted has signed the certificate of ${host}: name the certificate of its authority with --ca or KEYTURN_CA_FILE`
    case 'CERT_HAS_EXPIRED':
      return `the certificate of ${host} has expired, or the clock of this machine is wrong: renew the certificate`
    case 'CERT_NOT_YET_VALID':
      return `the certificate of ${host} is not valid yet: is the clock of this machine wrong?`
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `the certificate of ${host} is for other names: use one that it names, or put ${hostname} into it`
    case 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED':
    case 'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE':
    case 'ERR_SSL_TLSV1_ALERT_HANDSHAKE_FAILURE':
      return `the server admits only clients with a certificate: ${GIVE_CERTIFICATE}`
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
    case 'ERR_SSL_HTTP_REQUEST':
      return `${host} speaks HTTP without TLS: its address begins with http://`
    case 'ETIMEDOUT':
      return 'there was no answer in time: is the address right, and does a firewall let it through?'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${hostname} has no address: is the name right?`
    case 'ECONNRESET':
      return `the server closed the connection: ${
        protocol === 'http:'
          ? 'does its address begin with https://?'
          : `if it admits only clients with a certificate, ${GIVE_CERTIFICATE}`
      }`
    default:
      return 'is the server running? "keyturn serve" starts it'
  }
}
