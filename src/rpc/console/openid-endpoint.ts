/**
 * `/console/sign-in` and `/console/callback`: signing in with an OpenID provider (authorization code, OpenID Connect Core §3.1).
 *
 * The browser comes to both by a navigation, which can carry no header of the page. What binds the return to the browser that was sent away
 * is a cookie with state, nonce and the code verifier, which lives for ten minutes.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { codeToHttpStatus } from '@connectrpc/connect/protocol-connect'
import type { AttemptLimiter } from '../../app/access/attempt-limiter.ts'
import type { People } from '../../app/console/people.ts'
import { CONSOLE_PATH } from '../../domain/console/paths.ts'
import { DomainError, databaseBusy } from '../../domain/errors.ts'
import type { Log, OpenIdProvider, RequestContext } from '../../domain/ports.ts'
import { Semaphore } from '../../domain/semaphore.ts'
import { toConnectError } from '../messages/errors.ts'
import { labelOf } from '../protocol/call-context.ts'
import type { Answer } from '../routes.ts'
import { attemptCookie } from './attempt-cookie.ts'
import { setCookie } from './session-cookie.ts'

/** What failed returns are counted for, beside the address. */
const NAME = 'openid_sign_in'

/** Each asks the provider. */
const RETURNS = { maxRunning: 10, maxWaiting: 50, refusal: databaseBusy }

/** What the endpoints need. */
export interface OpenIdEndpointOptions {
  readonly provider: OpenIdProvider
  readonly people: Pick<People, 'signIn'>
  readonly attempts: Pick<AttemptLimiter, 'blockedForSeconds' | 'fail'>
  readonly baseUrl: string
  readonly requestContext: Pick<RequestContext, 'addressOf' | 'identified' | 'refused'>
  readonly log: Log
}

/** Answers by path, to GET. */
export interface OpenIdAnswers {
  readonly signIn: Answer
  readonly callback: Answer
}

/** Makes the answers. */
export function openIdEndpoint(options: OpenIdEndpointOptions): OpenIdAnswers {
  const { provider, people, attempts, baseUrl, requestContext, log } = options
  const isSecure = new URL(baseUrl).protocol === 'https:'
  const departures = attemptCookie(isSecure)
  const returns = new Semaphore(RETURNS)

  const refusing =
    (answer: (req: IncomingMessage, res: ServerResponse) => Promise<void>): Answer =>
    async (req, res) => {
      res.setHeader('cache-control', 'no-store')
      try {
        await answer(req, res)
      } catch (error) {
        const refusal = toConnectError(error, new Headers({ 'x-request-id': String(req.headers['x-request-id']) }), log)
        requestContext.refused(req, labelOf(refusal))
        for (const [name, value] of refusal.metadata) res.setHeader(name, value)
        res.writeHead(codeToHttpStatus(refusal.code), {
          'content-type': 'text/plain; charset=utf-8',
          'set-cookie': departures.clear,
        })
        res.end(`${refusal.rawMessage}\n\nTo try again, open ${baseUrl}${CONSOLE_PATH}\n`)
      }
    }

  return {
    signIn: refusing(async (_req, res) => {
      const { url, attempt } = await provider.begin()
      res.writeHead(303, { location: url, 'set-cookie': departures.set(attempt) }).end()
    }),

    callback: refusing(async (req, res) => {
      const clientAddress = requestContext.addressOf(req)
      const from = { name: NAME, address: clientAddress }
      const attempt = departures.read(req.headers.cookie)
      if (attempt === undefined)
        throw new DomainError('sign_in_failed', 'the sign-in took too long, or began elsewhere')
      const seconds = attempts.blockedForSeconds(from)
      if (seconds > 0) {
        throw new DomainError('too_many_failures', 'too many failed sign-ins: try again later', {
          metadata: { retry_after_seconds: String(seconds) },
        })
      }
      const query = (req.url ?? '').replace(/^[^?]*/, '')
      const person = await returns
        .run(() => provider.finish(query, attempt))
        .catch((error: unknown) => {
          log.warn({ err: error }, 'a person could not be signed in by the OpenID provider')
          if (error instanceof DomainError && error.code === 'sign_in_failed') attempts.fail(from)
          throw error
        })
      const request = { requestId: String(req.headers['x-request-id'] ?? ''), clientAddress }
      const { session, cookie } = await people.signIn(person, request)
      requestContext.identified(req, session.userId)
      res.writeHead(303, { location: CONSOLE_PATH, 'set-cookie': [setCookie(cookie, isSecure), departures.clear] })
      res.end()
    }),
  }
}
