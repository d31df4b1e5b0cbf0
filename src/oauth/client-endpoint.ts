/**
 * The endpoints at which clients authenticate, as steps: read the form, see which credential it has, find and prove the client, answer.
 *
 * Plain token requests are answered without oidc-provider, which would take most of their time (decision 9). Every refusal takes one way.
 */
import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { errors } from 'oidc-provider'
import type { AuditTrail } from '../app/audit/audit-trail.ts'
import type { SecretUses } from '../app/identities/secret-uses.ts'
import { ANONYMOUS } from '../domain/audit.ts'
import { userResource } from '../domain/audit-resources.ts'
import { originOf } from '../http/requests/exchange.ts'
import type { RouteHandler } from '../http/requests/router.ts'
import { type AudienceRules, assertAssertion } from './client-authentication/assertion-rules.ts'
import type { ClaimedUser } from './client-authentication/claimed-user.ts'
import {
  type ClientAuthenticationOptions,
  type FoundClient,
  findClient,
  proveClient,
} from './client-authentication/client-authentication.ts'
import { presentedCredential } from './client-authentication/presented-credential.ts'
import { createEngine, type Engine, type EngineCall, type EngineOptions } from './engine.ts'
import { type Answer, type RefusalAnswer, send, toAnswer, unavailable } from './requests/answers.ts'
import type { ClientEndpoint } from './requests/endpoints.ts'
import { type Form, fieldOf, readForm } from './requests/form.ts'
import { type IssuedTokenOptions, introspect, revoke } from './requests/issued-tokens.ts'
import { grantToken, type RequestedToken, type TokenGrantOptions } from './token/token-grants.ts'

export interface ClientEndpointOptions
  extends ClientAuthenticationOptions,
    AudienceRules,
    TokenGrantOptions,
    IssuedTokenOptions,
    Omit<EngineOptions, 'perform'> {
  readonly contexts: ClientAuthenticationOptions['contexts']
  readonly isFresh: () => boolean
  readonly secretUses: Pick<SecretUses, 'note'>
  /** Records failed authentications of existing users. Those of unknown users are only rate-limited. */
  readonly audit: Pick<AuditTrail, 'refuse'>
}

const ACTIONS: Readonly<Record<ClientEndpoint, string>> = {
  token: 'oauth/token',
  introspection: 'oauth/introspect',
  revocation: 'oauth/revoke',
}

/** In milliseconds since the authentication began. */
const QUANTUM = 50

interface Progress {
  readonly startedAt: number
  client?: FoundClient
}

export class ClientEndpoints {
  readonly #options: ClientEndpointOptions
  readonly #isPlain: (form: Form) => boolean
  readonly #engine: Engine

  /** @param isPlain Whether a form needs no engine. */
  constructor(options: ClientEndpointOptions, isPlain = isPlainForm) {
    this.#options = options
    this.#isPlain = isPlain
    this.#engine = createEngine({ ...options, perform: (call, asked) => this.#perform(call, asked) })
  }

  /** The handler of `POST`. */
  at(endpoint: ClientEndpoint): RouteHandler {
    const { isFresh, signer, secretUses, now } = this.#options
    return async (req, res, headers) => {
      const progress: Progress = { startedAt: performance.now() }
      try {
        if (!isFresh() || signer() === null) throw unavailable()
        const form = await readForm(req)
        if (form === undefined) return
        const answer = await this.#answer({ req, endpoint, form }, progress)
        const { kind, credentialIds: [id] = [] } = progress.client?.claimed.proof ?? {}
        if (kind === 'client_secret' && id !== undefined) secretUses.note(id, now())
        send(res, answer, headers)
      } catch (error) {
        send(res, await this.#refusal(req, error, progress), headers)
        const userId = progress.client?.claimed.user?.userId
        if (res.statusCode !== 401 || userId === undefined) return
        // After the response, which is sent in this turn of the event loop: its time must not reveal whether the user exists.
        setImmediate(() => this.#auditFailure(req, endpoint, userId))
      }
    }
  }

  async #answer(
    { req, endpoint, form }: Pick<EngineCall, 'req' | 'endpoint' | 'form'>,
    progress: Progress,
  ): Promise<Answer> {
    const options = this.#options
    const presented = presentedCredential(form, req)
    const client = await findClient(req, presented, options)
    progress.client = client
    const call = { req, endpoint, form, presented, client }
    if (presented.kind === 'key') {
      assertAssertion(presented.assertion, options.now(), options)
      return this.#answerByKey(call)
    }
    await proveClient(req, client, { presented, options })
    if (endpoint === 'token' && !this.#isPlain(form)) return this.#engine(call)
    return this.#perform(call, { scope: form.scope as string | undefined, resources: [] })
  }

  /** Once more with the keys as they are stored, before an assertion is refused: memory may lack one. */
  async #answerByKey(call: EngineCall): Promise<Answer> {
    const { claimed } = call.client
    const stateOf = ({ user }: ClaimedUser) => JSON.stringify([user?.enabled, user?.credentials])
    const remembered = stateOf(claimed)
    try {
      return await this.#engine(call)
    } catch (error) {
      if (!(error instanceof errors.InvalidClientAuth) || claimed.isConfirmed) throw error
      await claimed.confirm()
      if (stateOf(claimed) === remembered) throw error
      return this.#engine(call)
    }
  }

  async #perform({ req, endpoint, client, form }: EngineCall, asked: RequestedToken): Promise<Answer> {
    if (endpoint === 'token') return grantToken(req, client, asked, this.#options)
    const token = fieldOf(form, 'token')
    if (token === undefined) throw new errors.InvalidRequest("missing required parameter 'token'")
    return endpoint === 'introspection'
      ? introspect(token, client.claimed, this.#options)
      : revoke(req, token, client.claimed, this.#options)
  }

  /**
   * The answer to a request that failed. Every failed authentication includes one read of the user, so that all failures cost the same, and
   * counts for the rate limit; without the database it has not failed.
   */
  async #refusal(req: IncomingMessage, error: unknown, { client, startedAt }: Progress): Promise<RefusalAnswer> {
    const { attempts, contexts } = this.#options
    let answer = toAnswer(error, this.#options)
    if (answer.status === 401 && client !== undefined) {
      try {
        await client.claimed.confirm()
        attempts.fail(client.attempt)
        await delay(refusalDelay(performance.now() - startedAt))
      } catch (failure) {
        answer = toAnswer(failure, this.#options)
      }
    }
    contexts.refused(req, answer.code)
    if (answer.detail !== undefined) contexts.explained(req, answer.detail)
    return answer
  }

  #auditFailure(req: IncomingMessage, endpoint: ClientEndpoint, userId: string): void {
    const { audit, contexts } = this.#options
    const origin = originOf(req, contexts)
    const entry = { ...origin, actor: ANONYMOUS, action: ACTIONS[endpoint], resource: userResource(userId) }
    // The error of RFC 6749 §5.2, in the format of a reason.
    audit.refuse(entry, 'INVALID_CLIENT')
  }
}

const PLAIN_SCOPE = /^[\w:.-]+(?: [\w:.-]+)*$/

/** Whether a form asks for a token with the client credentials grant, in the way that nearly all clients do (RFC 6749 §4.4.2). */
function isPlainForm({ grant_type: grantType, scope, resource }: Form): boolean {
  const isPlainScope = scope === undefined || (typeof scope === 'string' && PLAIN_SCOPE.test(scope))
  return grantType === 'client_credentials' && resource === undefined && isPlainScope
}

/**
 * How long to delay a failure that took so many milliseconds. Failures are answered at multiples of the quantum only, so that the time does not reveal
 * which users exist: with a database nearby, all of them at the first.
 */
export function refusalDelay(elapsed: number): number {
  return Math.max(1, Math.ceil(elapsed / QUANTUM)) * QUANTUM - elapsed
}
