/**
 * A browser at the console as the server sees it: requests of its page, with the cookie that it was given.
 */
import type { Administration } from './administration.ts'
import type { Keyturn } from './keyturn.ts'

/** The headers of the page's requests for what a person did. */
export const PAGE = { 'x-keyturn-console': '1' } as const

/** A browser. */
export interface ConsoleBrowser {
  /** `name=value`; undefined without one. */
  cookie: string | undefined
  /** Sends a request of the page to a replica. */
  send(path: string, init?: RequestInit, replica?: Pick<Keyturn, 'listenUrl'>): Promise<Response>
  /** Signs in with a code. */
  signIn(code: string, replica?: Pick<Keyturn, 'listenUrl'>): Promise<Response>
  /** Calls a method, for example `iam.project.v2.ProjectService/ListProjects`. */
  call(method: string, request?: object, replica?: Pick<Keyturn, 'listenUrl'>): Promise<Response>
}

/** A browser without a cookie. @param server The replica that it asks unless another one is named. */
export function openBrowser(server: Pick<Keyturn, 'listenUrl'>): ConsoleBrowser {
  const browser: ConsoleBrowser = {
    cookie: undefined,

    send: async (path, { headers, ...init } = {}, { listenUrl } = server) => {
      const cookie = browser.cookie === undefined ? {} : { cookie: browser.cookie }
      const response = await fetch(listenUrl + path, { ...init, headers: { ...cookie, ...PAGE, ...headers } })
      for (const line of response.headers.getSetCookie()) {
        const [pair = ''] = line.split(';', 1)
        browser.cookie = pair.endsWith('=') ? undefined : pair
      }
      return response
    },

    signIn: (code, replica) =>
      browser.send(
        '/console/session',
        { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ code }) },
        replica,
      ),

    call: (method, request = {}, replica) =>
      browser.send(
        `/console/api/${method}`,
        { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(request) },
        replica,
      ),
  }
  return browser
}

/** The code of a new sign-in link. */
export async function newCode({ console }: Pick<Administration, 'console'>): Promise<string> {
  const { url } = await console.createSignInLink({})
  return new URLSearchParams(new URL(url).hash.slice(1)).get('code') ?? ''
}
