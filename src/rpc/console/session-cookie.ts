/**
 * The cookie of a session of the console (RFC 6265).
 *
 * It is sent to the paths of the console only, never by requests of other sites, and scripts cannot read it.
 */
import { SESSION_LIFETIME_SECONDS } from '../../domain/console/sign-ins.ts'
import { cookieValue } from './cookies.ts'

const NAME = 'keyturn_console'
const ATTRIBUTES = 'Path=/console; HttpOnly; SameSite=Strict'

/** The value of the cookie in a `Cookie` header. Undefined if it is missing, or there are several. */
export function readCookie(header: string | null | undefined): string | undefined {
  return cookieValue(header, NAME)
}

/** The `Set-Cookie` header of a new session. @param isSecure Whether browsers use https. */
export function setCookie(value: string, isSecure: boolean): string {
  return `${NAME}=${value}; ${ATTRIBUTES}; Max-Age=${SESSION_LIFETIME_SECONDS}${isSecure ? '; Secure' : ''}`
}

/** The `Set-Cookie` header after a session. */
export function clearCookie(isSecure: boolean): string {
  return `${NAME}=; ${ATTRIBUTES}; Max-Age=0${isSecure ? '; Secure' : ''}`
}
