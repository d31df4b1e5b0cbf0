/**
 * `/console/session`: a browser signs in with the code of a link (POST), asks who it is (GET), and signs out (DELETE).
 *
 * It is no RPC, because an answer of one cannot set a cookie for certain in every protocol. Its errors are those of RPCs.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Code, ConnectError } from '@connectrpc/connect'
import { readAllBytes } from '@connectrpc/connect/protocol'
import { codeToHttpStatus, errorToJson } from '@connectrpc/connect/protocol-connect'
import type { ConsoleSessions } from '../../app/console/console-sessions.ts'
import type { SessionAccess, SessionCaller } from '../../app/console/session-access.ts'
import { DomainError } from '../../domain/errors.ts'
import { formatClientId } from '../../domain/identities/client-id.ts'
import { permissionsAnywhere } from '../../domain/identities/reach.ts'
import type { Log, RequestContext } from '../../domain/ports/runtime.ts'
import { type Handler, originOf } from '../../http/requests/exchange.ts'
import { type ErrorOptions, invalidArgument, toConnectError } from '../messages/errors.ts'
import { labelOf } from '../protocol/call-context.ts'
import { clearCookie, readCookie, setCookie } from './cookies.ts'
import { isUse } from './same-origin.ts'

/** More than a code takes, in bytes. */
const MAX_BODY_BYTES = 1024

export interface SessionEndpointOptions {
  readonly sessions: Pick<ConsoleSessions, 'open' | 'signOut'>
  readonly access: Pick<SessionAccess, 'authenticate'>
  readonly baseUrl: string
  /** The page says until when tokens work, also to users who may not see the settings of the instance. */
  readonly tokenLifetimeSeconds: number
  /** Where the page can send a browser to sign in; null: only links sign in. */
  readonly signInPath: string | null
  readonly requestContext: Pick<RequestContext, 'addressOf' | 'identified' | 'refused'>
  readonly log: Log
}

export function sessionEndpoint(options: SessionEndpointOptions): Readonly<Record<'GET' | 'POST' | 'DELETE', Handler>> {
  const { sessions, access, baseUrl, tokenLifetimeSeconds, signInPath, requestContext } = options
  const isSecure = new URL(baseUrl).protocol === 'https:'
  const callerOf = async (req: IncomingMessage): Promise<SessionCaller> => {
    const cookie = readCookie(req.headers.cookie)
    const caller = await access.authenticate({
      cookie,
      address: requestContext.addressOf(req),
      isUse: isUse(headerOf(req)),
    })
    requestContext.identified(req, caller.user.userId)
    return caller
  }
  const refusing = refusingWith(options, (req, res, refusal) => {
    const signIn = signInPath === null ? {} : { signInPath }
    sendJson(req, res, codeToHttpStatus(refusal.code), { ...errorToJson(refusal, undefined), ...signIn })
  })

  return {
    GET: refusing(async (req, res) =>
      sendJson(req, res, 200, { ...describe(await callerOf(req)), tokenLifetimeSeconds }),
    ),

    POST: refusing(async (req, res) => {
      const { session, cookie } = await sessions.open(await readCode(req), originOf(req, requestContext))
      requestContext.identified(req, session.userId)
      res.writeHead(204, { 'set-cookie': setCookie(cookie, isSecure) }).end()
    }),

    DELETE: refusing(async (req, res) => {
      // The cookie goes all the same, with a refusal too: then this browser at least is not signed in any more.
      res.setHeader('set-cookie', clearCookie(isSecure))
      try {
        const { session } = await callerOf(req)
        await sessions.signOut(session, originOf(req, requestContext))
      } catch (error) {
        if (!(error instanceof DomainError) || error.code !== 'console_session_invalid') throw error
      }
      res.writeHead(204).end()
    }),
  }
}

/**
 * Answers that are not cached, with errors like those of RPCs.
 *
 * @param send Sends the status and the body of an error, whose headers are set.
 */
export function refusingWith(
  { requestContext, ...options }: ErrorOptions & { readonly requestContext: Pick<RequestContext, 'refused'> },
  send: (req: IncomingMessage, res: ServerResponse, refusal: ConnectError) => void,
): (answer: Handler) => Handler {
  return (answer) => async (req, res) => {
    res.setHeader('cache-control', 'no-store')
    try {
      await answer(req, res)
    } catch (error) {
      const refusal = toConnectError(error, headerOf(req), options)
      requestContext.refused(req, labelOf(refusal))
      for (const [name, value] of refusal.metadata) res.setHeader(name, value)
      send(req, res, refusal)
    }
  }
}

function describe({ user, session }: SessionCaller): object {
  return {
    userId: user.userId,
    name: user.name,
    clientId: formatClientId(user),
    expiresAt: session.expiresAt.toISOString(),
    permissions: permissionsAnywhere(user),
    instanceRoles: user.instanceRoles,
    managedProjects: Object.fromEntries(user.managedProjects),
  }
}

/** @throws {ConnectError} `invalid_argument`. */
async function readCode(req: IncomingMessage): Promise<string> {
  try {
    if (!/^application\/json(?:; ?charset=utf-8)?$/i.test(req.headers['content-type'] ?? '')) throw noCode()
    const { code } = JSON.parse(Buffer.from(await readAllBytes(req, MAX_BODY_BYTES)).toString())
    if (typeof code === 'string') return code
  } catch {
    // It is refused in one way.
  }
  throw noCode()
}

function noCode(): ConnectError {
  return invalidArgument(new ConnectError('the body must be JSON like {"code":"…"}', Code.InvalidArgument))
}

/** Those headers that are asked for here and in errors. */
function headerOf({ headers }: IncomingMessage): Headers {
  const names = ['x-request-id', 'x-keyturn-console']
  return new Headers(names.map((name): [string, string] => [name, String(headers[name] ?? '')]))
}

export function sendJson(req: IncomingMessage, res: ServerResponse, status: number, body: object): void {
  const bytes = Buffer.from(JSON.stringify(body))
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length })
  res.end(req.method === 'HEAD' ? undefined : bytes)
}
