/**
 * The header that every request of the page has: script of another origin cannot set it.
 */

/** Its name. */
export const HEADER = 'x-keyturn-console'

/** Its value if a person caused the request, which counts as use of the session. */
export const PERSON = '1'

/** Its value if the page makes the request by itself. */
export const BACKGROUND = 'background'
