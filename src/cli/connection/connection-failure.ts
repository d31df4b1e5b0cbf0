/**
 * What is wrong with a connection to a server, and what to do about it.
 */

/** A call that got no answer, or one that cannot be used. The message is for the user. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
}

/** Advice by the code of the system, of OpenSSL or of Node.js. A server of Node.js closes the connection instead of an alert. */
const ADVICE: readonly (readonly [codes: RegExp, advice: string])[] = [
  [
    /SELF_SIGNED|UNABLE_TO_(GET|VERIFY)|CERT_UNTRUSTED/,
    'no authority that is trusted has signed its certificate: name the certificate of its authority with --ca or KEYTURN_CA_FILE',
  ],
  [/CERT_(HAS_EXPIRED|NOT_YET_VALID)/, 'its certificate is not valid now, or the clock of this machine is wrong'],
  [/ALTNAME_INVALID/, 'its certificate is for other names: use one of them, or put this one into it'],
  [/WRONG_VERSION_NUMBER|PACKET_LENGTH|HTTP_REQUEST/, 'it speaks HTTP without TLS: its address begins with http://'],
  [
    /_ALERT_| alert |ECONNRESET/,
    'it closed the connection: if it admits only clients with a certificate, give a valid one that an authority of its ' +
      'KEYTURN_TLS_CLIENT_CA_FILE has signed, with --client-cert and --client-key; otherwise, is the scheme of the address right?',
  ],
  [/ETIMEDOUT/, 'there was no answer in time: is the address right, and does a firewall let it through?'],
  [/ENOTFOUND|EAI_AGAIN/, 'its name has no address: is it right?'],
]

/** The error for a connection that failed. */
export function connectionFailure(error: unknown, url: string): ConnectionError {
  const { code, message } = connectionError(error) ?? { code: undefined, message: '' }
  // An error of TLS while something is written has its reason in its message only.
  const [, advice] = ADVICE.find(([codes]) => codes.test(`${code} ${message}`)) ?? []
  const what = `cannot reach ${url}${code === undefined ? '' : ` (${code})`}`
  return new ConnectionError(`${what}: ${advice ?? 'is the server running? "keyturn serve" starts it'}`, {
    cause: error,
  })
}

/** The code of the first error of a chain of causes that has one. Undefined: the connection did not fail. */
export function connectionCode(error: unknown): string | undefined {
  return connectionError(error)?.code
}

function connectionError(error: unknown): { readonly code: string; readonly message: string } | undefined {
  for (let link = error, depth = 0; link instanceof Error && depth < 5; link = link.cause, depth += 1) {
    const { message } = link
    // Of a signal; its code is a number.
    if (link instanceof DOMException && link.name === 'TimeoutError') return { code: 'ETIMEDOUT', message }
    if ('code' in link && typeof link.code === 'string') return { code: link.code, message }
  }
  return undefined
}
