/**
 * The cookies of the console (RFC 6265).
 *
 * That of a session is sent to the paths of the console only, never by requests of other sites, and scripts cannot read it. That of a sign-in, with
 * state, nonce and code verifier between the departure to an OpenID provider and the return, must come from its own host: one that another host of
 * the domain could set would let it sign a browser in as someone else (login CSRF). Over https its name has the prefix `__Host-`, with which browsers
 * see to that, and which asks for the path `/`.
 */
import { CALLBACK_PATH, SESSION_LIFETIME_SECONDS } from '../../domain/console/sign-ins.ts'
import type { SignInAttempt } from '../../domain/ports/console.ts'

const SESSION = 'keyturn_console'
const SESSION_ATTRIBUTES = 'Path=/console; HttpOnly; SameSite=Strict'
const ATTEMPT = 'keyturn_console_sign_in'
const ATTEMPT_SECONDS = 600

/** The value of the session's cookie in a `Cookie` header. Undefined if it is missing, or there are several. */
export function readCookie(header: string | null | undefined): string | undefined {
  return cookieValue(header, SESSION)
}

/** The `Set-Cookie` header of a new session. @param isSecure Whether browsers use https. */
export function setCookie(value: string, isSecure: boolean): string {
  return `${SESSION}=${value}; ${SESSION_ATTRIBUTES}; Max-Age=${SESSION_LIFETIME_SECONDS}${isSecure ? '; Secure' : ''}`
}

/** The `Set-Cookie` header after a session. */
export function clearCookie(isSecure: boolean): string {
  return `${SESSION}=; ${SESSION_ATTRIBUTES}; Max-Age=0${isSecure ? '; Secure' : ''}`
}

/** Sets and reads the cookie of a sign-in. @param isSecure Whether browsers use https. */
export function attemptCookie(isSecure: boolean) {
  const name = isSecure ? `__Host-${ATTEMPT}` : ATTEMPT
  const attributes = `${isSecure ? 'Path=/; Secure' : `Path=${CALLBACK_PATH}`}; HttpOnly; SameSite=Lax`
  return {
    set: (attempt: SignInAttempt): string => {
      const value = Buffer.from(JSON.stringify(attempt)).toString('base64url')
      return `${name}=${value}; ${attributes}; Max-Age=${ATTEMPT_SECONDS}`
    },
    clear: `${name}=; ${attributes}; Max-Age=0`,
    /** Undefined if there is none, several, or one that this server did not set. */
    read: (header: string | undefined): SignInAttempt | undefined => parseAttempt(cookieValue(header, name) ?? ''),
  }
}

function parseAttempt(text: string): SignInAttempt | undefined {
  try {
    const { state, nonce, verifier }: Record<string, unknown> = JSON.parse(Buffer.from(text, 'base64url').toString())
    if ([state, nonce, verifier].every((value) => typeof value === 'string' && value !== '')) {
      return { state, nonce, verifier } as SignInAttempt
    }
  } catch {
    // Not a cookie of this server.
  }
  return undefined
}

/** Undefined if there are several: another host of the domain may have set one of them, and the order does not tell which. */
function cookieValue(header: string | null | undefined, name: string): string | undefined {
  const values = (header ?? '').split(';').flatMap((pair) => {
    const text = pair.trim()
    return text.startsWith(`${name}=`) ? [text.slice(name.length + 1)] : []
  })
  return values.length === 1 ? values[0] : undefined
}
