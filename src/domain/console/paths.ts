/** The page. Its cookie is sent to what is below it, and to nothing else. */
export const CONSOLE_PATH = '/console/'

export const SESSION_PATH = '/console/session'

/** Where a browser is sent to an OpenID provider, and where it comes back. */
export const SIGN_IN_PATH = '/console/sign-in'
export const CALLBACK_PATH = '/console/callback'

/** What the paths of RPCs are behind, without a slash at its end. */
export const CONSOLE_API = '/console/api'

/** Whether a path, without its query, belongs to the console. */
export function isConsolePath(path: string): boolean {
  return path.startsWith(CONSOLE_PATH) || path === '/console'
}
