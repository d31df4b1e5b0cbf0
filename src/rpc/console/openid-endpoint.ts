/**
 * `/console/sign-in` and `/console/callback`: signing in with an OpenID provider (authorization code, OpenID Connect Core §3.1).
 *
 * The browser comes to both by a navigation, which can carry no header of the page. What binds the return to the browser that was sent away
 * is a cookie with state, nonce and the code verifier, which lives for ten minutes.
 */
import type { IncomingMessage } from 'node:http'
import { codeToHttpStatus } from '@connectrpc/connect/protocol-connect'
import type { AttemptLimiter } from '../../app/access/attempt-limiter.ts'
import type { AuditTrail } from '../../app/audit/audit-trail.ts'
import { SIGN_IN } from '../../app/console/console-sessions.ts'
import type { People } from '../../app/console/people.ts'
import { ANONYMOUS } from '../../domain/audit.ts'
import type { Person } from '../../domain/console/person.ts'
import { CONSOLE_PATH } from '../../domain/console/sign-ins.ts'
import { DomainError, databaseBusy } from '../../domain/errors.ts'
import type { OpenIdProvider } from '../../domain/ports/console.ts'
import type { Log, RequestContext } from '../../domain/ports/runtime.ts'
import { Semaphore } from '../../domain/semaphore.ts'
import { type Handler, originOf } from '../../http/requests/exchange.ts'
import { auditRefusal } from '../authorization/refusal-audit.ts'
import { attemptCookie, setCookie } from './cookies.ts'
import { refusingWith } from './session-endpoint.ts'

/** Each asks the provider. */
const RETURNS = { maxRunning: 10, maxWaiting: 50, refusal: databaseBusy }

export interface OpenIdEndpointOptions {
  readonly provider: OpenIdProvider
  readonly people: Pick<People, 'signIn'>
  readonly attempts: Pick<AttemptLimiter, 'assertMayTry' | 'fail'>
  readonly audit: Pick<AuditTrail, 'refuse'>
  /** The SHA-256 of a text, as a text. */
  readonly digest: (text: string) => string
  readonly baseUrl: string
  readonly requestContext: Pick<RequestContext, 'addressOf' | 'identified' | 'refused'>
  readonly log: Log
}

export interface OpenIdAnswers {
  readonly signIn: Handler
  readonly callback: Handler
}

export function openIdEndpoint(options: OpenIdEndpointOptions): OpenIdAnswers {
  const { provider, people, attempts, audit, digest, baseUrl, requestContext, log } = options
  const isSecure = new URL(baseUrl).protocol === 'https:'
  const departures = attemptCookie(isSecure)
  const returns = new Semaphore(RETURNS)

  const refusing = refusingWith(options, (_req, res, refusal) => {
    res.writeHead(codeToHttpStatus(refusal.code), {
      'content-type': 'text/plain; charset=utf-8',
      'set-cookie': departures.clear,
    })
    res.end(`${refusal.rawMessage}\n\nTo try again, open ${baseUrl}${CONSOLE_PATH}\n`)
  })

  /** The person whom the provider confirms. A failure counts for its sign-in, and for the address. */
  const confirmed = async (req: IncomingMessage, address: string): Promise<Person> => {
    const attempt = departures.read(req.headers.cookie)
    if (attempt === undefined) throw new DomainError('sign_in_failed', 'the sign-in took too long, or began elsewhere')
    const from = { name: digest(attempt.state), address }
    attempts.assertMayTry(from)
    const query = (req.url ?? '').replace(/^[^?]*/, '')
    try {
      return await returns.run(() => provider.finish(query, attempt))
    } catch (error) {
      log.warn({ err: error }, 'a person could not be signed in by the OpenID provider')
      if (error instanceof DomainError && error.code === 'sign_in_failed') attempts.fail(from)
      throw error
    }
  }

  return {
    signIn: refusing(async (_req, res) => {
      const { url, attempt } = await provider.begin()
      res.writeHead(303, { location: url, 'set-cookie': departures.set(attempt) }).end()
    }),

    callback: refusing(async (req, res) => {
      const request = originOf(req, requestContext)
      const person = await confirmed(req, request.clientAddress).catch((error: unknown) => {
        auditRefusal(audit, { ...request, actor: ANONYMOUS, action: SIGN_IN, resource: '' }, error)
        throw error
      })
      const { session, cookie } = await people.signIn(person, request)
      requestContext.identified(req, session.userId)
      res.writeHead(303, { location: CONSOLE_PATH, 'set-cookie': [setCookie(cookie, isSecure), departures.clear] })
      res.end()
    }),
  }
}
