/**
 * Protection against cross-site request forgery: a request with the cookie counts only if the page of the console sent it.
 *
 * The header is what forms and pages of other origins cannot send without a preflight, which is never answered with permission here. The
 * browser's own words about the origin are checked besides. The host of a request proves nothing, and is not asked.
 */
import type { IncomingMessage } from 'node:http'

const HEADER = 'x-keyturn-console'

/** What the header says: a person did something, or the page asks by itself. */
const USE = '1'
const BACKGROUND = 'background'

/** Why a request may not come from the page; undefined if it may. @param origin The origin of the base URL. */
export function crossOriginProblem({ headers }: Pick<IncomingMessage, 'headers'>, origin: string): string | undefined {
  const said = headers[HEADER]
  if (said !== USE && said !== BACKGROUND) return `the header ${HEADER} is missing`
  if (headers.origin !== undefined && headers.origin !== origin) return `the origin is not ${origin}`
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return 'the request comes from another site'
  return undefined
}

/** Whether a call is a use of the session, and not one that the page makes by itself. */
export function isUse(header: Headers): boolean {
  return header.get(HEADER) === USE
}
