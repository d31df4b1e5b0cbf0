/**
 * The cookie between the departure to an OpenID provider and the return: state, nonce and the code verifier of one sign-in.
 *
 * A cookie that another host of the domain could set would let it sign a browser in as someone else (login CSRF). Over https the name has
 * the prefix `__Host-`, with which browsers take a cookie from its own host alone, and which asks for the path `/`.
 */
import { CALLBACK_PATH } from '../../domain/console/sign-ins.ts'
import type { SignInAttempt } from '../../domain/ports/console.ts'
import { cookieValue } from './cookies.ts'

const NAME = 'keyturn_console_sign_in'
const MAX_AGE_SECONDS = 600

/** Sets and reads the cookie. */
export interface AttemptCookie {
  /** The `Set-Cookie` header of a departure. */
  set(attempt: SignInAttempt): string
  /** The `Set-Cookie` header of a return. */
  readonly clear: string
  /** The attempt in a `Cookie` header. Undefined if there is none, several, or one that this server did not set. */
  read(header: string | undefined): SignInAttempt | undefined
}

/** @param isSecure Whether browsers use https. */
export function attemptCookie(isSecure: boolean): AttemptCookie {
  const name = isSecure ? `__Host-${NAME}` : NAME
  const attributes = `${isSecure ? 'Path=/; Secure' : `Path=${CALLBACK_PATH}`}; HttpOnly; SameSite=Lax`
  return {
    set: (attempt) => {
      const value = Buffer.from(JSON.stringify(attempt)).toString('base64url')
      return `${name}=${value}; ${attributes}; Max-Age=${MAX_AGE_SECONDS}`
    },
    clear: `${name}=; ${attributes}; Max-Age=0`,
    read: (header) => parseAttempt(cookieValue(header, name) ?? ''),
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
