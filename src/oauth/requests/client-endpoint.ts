/**
 * The endpoints at which clients authenticate, as steps: read the form, see which credential it has, find and prove the client, answer.
 *
 * Plain token requests are answered without oidc-provider, which would take most of their time (decision 9). Every refusal takes one way.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { errors } from 'oidc-provider'
import { userResource } from '../../app/audit/audit-resources.ts'
import type { AuditTrail } from '../../app/audit/audit-trail.ts'
import type { SecretUses } from '../../app/identities/secret-uses.ts'
import { ANONYMOUS } from '../../domain/audit.ts'
import type { HeaderList } from '../../domain/http-headers.ts'
import { type AudienceRules, assertAssertion } from '../client-authentication/assertion-rules.ts'
import type { ClaimedUser } from '../client-authentication/claimed-user.ts'
import {
  type ClientAuthenticationOptions,
  type FoundClient,
  findClient,
  proveClient,
} from '../client-authentication/client-authentication.ts'
import { presentedCredential } from '../client-authentication/presented-credential.ts'
import type { ClientEndpoint } from '../endpoints.ts'
import { type Asked, createEngine, type Engine, type EngineCall, type EngineOptions } from '../engine.ts'
import { grantToken, type TokenGrantOptions } from '../token/token-grants.ts'
import { type Answer, type RefusalAnswer, send, toAnswer, unavailable } from './answers.ts'
import { type Form, fieldOf, readForm } from './form.ts'
import { type IssuedTokenOptions, introspect, revoke } from './issued-tokens.ts'

export type OAuthHandler = (req: IncomingMessage, res: ServerResponse, headers: HeaderList) => void | Promise<void>

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

/** Makes the handlers of `POST`, with one engine. @param isPlain Whether a form needs no engine. */
export function createClientEndpoints(
  options: ClientEndpointOptions,
  isPlain = isPlainForm,
): Readonly<Record<ClientEndpoint, OAuthHandler>> {
  const engine = createEngine({ ...options, perform: (call, asked) => perform(call, asked, options) })
  const handlerOf =
    (endpoint: ClientEndpoint): OAuthHandler =>
    async (req, res, headers) => {
      const progress: Progress = { startedAt: performance.now() }
      try {
        if (!options.isFresh() || options.signer() === null) throw unavailable()
        const form = await readForm(req)
        if (form === undefined) return
        const answer = await answerTo({ req, endpoint, form }, progress, { options, engine, isPlain })
        const { kind, credentialIds: [id] = [] } = progress.client?.claimed.proof ?? {}
        if (kind === 'client_secret' && id !== undefined) options.secretUses.note(id, options.now())
        send(res, answer, headers)
      } catch (error) {
        send(res, await refuse(req, error, { progress, options }), headers)
        const userId = progress.client?.claimed.user?.userId
        if (res.statusCode !== 401 || userId === undefined) return
        // After the response, which is sent in this turn of the event loop: its time must not reveal whether the user exists.
        setImmediate(() => auditFailure(req, endpoint, { userId, options }))
      }
    }
  return {
    token: handlerOf('token'),
    introspection: handlerOf('introspection'),
    revocation: handlerOf('revocation'),
  }
}

interface Answering {
  readonly options: ClientEndpointOptions
  readonly engine: Engine
  readonly isPlain: (form: Form) => boolean
}

async function answerTo(
  { req, endpoint, form }: Pick<EngineCall, 'req' | 'endpoint' | 'form'>,
  progress: Progress,
  { options, engine, isPlain }: Answering,
): Promise<Answer> {
  const presented = presentedCredential(form, req)
  const client = await findClient(req, presented, options)
  progress.client = client
  const call = { req, endpoint, form, presented, client }
  if (presented.kind === 'key') {
    assertAssertion(presented.assertion, options.now(), options)
    return answerByKey(engine, call)
  }
  await proveClient(req, client, { presented, options })
  if (endpoint === 'token' && !isPlain(form)) return engine(call)
  return perform(call, { scope: form.scope as string | undefined, resources: [] }, options)
}

/** Once more with the keys as they are stored, before an assertion is refused: memory may lack one. */
async function answerByKey(engine: Engine, call: EngineCall): Promise<Answer> {
  const { claimed } = call.client
  const stateOf = ({ user }: ClaimedUser) => JSON.stringify([user?.enabled, user?.credentials])
  const remembered = stateOf(claimed)
  try {
    return await engine(call)
  } catch (error) {
    if (!(error instanceof errors.InvalidClientAuth) || claimed.isConfirmed) throw error
    await claimed.confirm()
    if (stateOf(claimed) === remembered) throw error
    return engine(call)
  }
}

async function perform(
  { req, endpoint, client, form }: EngineCall,
  asked: Asked,
  options: ClientEndpointOptions,
): Promise<Answer> {
  if (endpoint === 'token') return grantToken(req, client, asked, options)
  const token = fieldOf(form, 'token')
  if (token === undefined) throw new errors.InvalidRequest("missing required parameter 'token'")
  return endpoint === 'introspection'
    ? introspect(token, client.claimed, options)
    : revoke(req, token, client.claimed, options)
}

const PLAIN_SCOPE = /^[\w:.-]+(?: [\w:.-]+)*$/

/** Whether a form asks for a token with the client credentials grant, in the way that nearly all clients do (RFC 6749 §4.4.2). */
function isPlainForm({ grant_type: grantType, scope, resource }: Form): boolean {
  const isPlainScope = scope === undefined || (typeof scope === 'string' && PLAIN_SCOPE.test(scope))
  return grantType === 'client_credentials' && resource === undefined && isPlainScope
}

/**
 * The answer to a request that failed. Every failed authentication includes one read of the user, so that all failures cost the same, and
 * counts for the rate limit; without the database it has not failed.
 */
async function refuse(
  req: IncomingMessage,
  error: unknown,
  { progress, options }: { readonly progress: Progress; readonly options: ClientEndpointOptions },
): Promise<RefusalAnswer> {
  const { client, startedAt } = progress
  const { attempts, contexts } = options
  let answer = toAnswer(error, options)
  if (answer.status === 401 && client !== undefined) {
    try {
      await client.claimed.confirm()
      attempts.fail(client.attempt)
      await delay(refusalDelay(performance.now() - startedAt))
    } catch (failure) {
      answer = toAnswer(failure, options)
    }
  }
  contexts.refused(req, answer.code)
  if (answer.detail !== undefined) contexts.explained(req, answer.detail)
  return answer
}

/**
 * How long to delay a failure that took so many milliseconds. Failures are answered at multiples of the quantum only, so that the time does not reveal
 * which users exist: with a database nearby, all of them at the first.
 */
export function refusalDelay(elapsed: number): number {
  return Math.max(1, Math.ceil(elapsed / QUANTUM)) * QUANTUM - elapsed
}

function auditFailure(
  req: IncomingMessage,
  endpoint: ClientEndpoint,
  { userId, options }: { readonly userId: string; readonly options: ClientEndpointOptions },
): void {
  const requestId = String(req.headers['x-request-id'] ?? '')
  const clientAddress = options.contexts.addressOf(req)
  const entry = {
    actor: ANONYMOUS,
    action: ACTIONS[endpoint],
    resource: userResource(userId),
    requestId,
    clientAddress,
  }
  // The error of RFC 6749 §5.2, in the format of a reason.
  options.audit.refuse(entry, 'INVALID_CLIENT')
}
