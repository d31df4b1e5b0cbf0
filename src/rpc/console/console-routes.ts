/**
 * What of the console needs its cookie, or gives it: the API below `/console/api`, and signing in and out. No other path takes the cookie,
 * and these take no token (decision 32).
 */
import type { SessionAccess } from '../../app/console/session-access.ts'
import { CALLBACK_PATH, CONSOLE_API, SESSION_PATH, SIGN_IN_PATH } from '../../domain/console/sign-ins.ts'
import type { RequestContext } from '../../domain/ports/runtime.ts'
import type { Handler } from '../../http/requests/exchange.ts'
import type { Route, RouteHandler, Routes } from '../../http/requests/router.ts'
import type { Authenticate } from '../authorization/authorize.ts'
import { connectRefusal } from '../protocol/http-refusals.ts'
import { readCookie } from './cookies.ts'
import type { OpenIdAnswers } from './openid-endpoint.ts'
import { crossOriginProblem, isUse } from './same-origin.ts'
import { sendJson } from './session-endpoint.ts'

export interface ConsoleRoutesOptions {
  /** By the path of the method. */
  readonly calls: Routes
  /** Answers at `SESSION_PATH`. */
  readonly session: Readonly<Record<'GET' | 'POST' | 'DELETE', Handler>>
  /** Answers at `SIGN_IN_PATH` and `CALLBACK_PATH`; null without an OpenID provider. */
  readonly openId: OpenIdAnswers | null
  /** The base URL, at which the page is open. */
  readonly baseUrl: string
  /** Of every response. */
  readonly headers: Readonly<Record<string, string>>
  readonly requestContext: Pick<RequestContext, 'refused'>
}

export function bySession(access: Pick<SessionAccess, 'authenticate'>): Authenticate {
  return ({ header, clientAddress }) =>
    access.authenticate({ cookie: readCookie(header.get('cookie')), address: clientAddress, isUse: isUse(header) })
}

/** The routes, each behind the check of the origin but the two that browsers navigate to. Calls are made by POST only, which is all that the page needs. */
export function consoleRoutes(options: ConsoleRoutesOptions): Routes {
  const { calls, session, openId, headers } = options
  const guard = guardWith(options)
  const route = (methods: Route['methods'], own: Route['headers'] = {}): Route => {
    return { methods, headers: { ...own, ...headers }, cors: null }
  }
  const behindPrefix = [...calls].map(([path, { methods, headers: own }]) => {
    const { POST } = methods
    if (POST === undefined) throw new Error(`${path} is not called by POST`)
    return [CONSOLE_API + path, route({ POST: guard(POST) }, own)] as const
  })
  const { GET, POST, DELETE } = session
  const signingIn = route({ GET: guard(GET), POST: guard(POST), DELETE: guard(DELETE) })
  const navigations: [string, Route][] =
    openId === null
      ? []
      : [
          [SIGN_IN_PATH, route({ GET: openId.signIn })],
          [CALLBACK_PATH, route({ GET: openId.callback })],
        ]
  return new Map([...behindPrefix, [SESSION_PATH, signingIn], ...navigations])
}

function guardWith({ baseUrl, requestContext }: ConsoleRoutesOptions): (answer: RouteHandler) => RouteHandler {
  const { origin } = new URL(baseUrl)
  return (answer) => async (req, res, common) => {
    const problem = crossOriginProblem(req, origin)
    if (problem === undefined) return await answer(req, res, common)
    requestContext.refused(req, 'CROSS_ORIGIN')
    res.setHeader('cache-control', 'no-store')
    sendJson(req, res, 403, connectRefusal(403, `only the page of the console may send this: ${problem}`))
  }
}
