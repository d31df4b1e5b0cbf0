/**
 * Answers the token requests that nearly all clients send, and that get a token, without the engine: it would spend most
 * of the time of a request on choices that these requests leave no room for.
 *
 * Nobody is refused here, but for the lack of a key or a database. Whatever is not recognised or not granted goes to the
 * engine as if nobody had looked at it. Who has proved a secret, what is granted and what a token says is decided by what
 * the engine asks as well.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { splitClientId } from '../../domain/identities/client-id.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import { decideTokenGrant, type GrantedToken } from '../../domain/identities/token-grant.ts'
import { beginAuthentication } from '../client-authentication/constant-time-refusal.ts'
import { writeDownFailure } from '../client-authentication/failed-authentications.ts'
import { leaveFound } from '../client-authentication/found-user.ts'
import { readNamed } from '../client-authentication/named-user.ts'
import { matchingSecret } from '../client-authentication/secret-match.ts'
import { isUnavailable } from '../errors.ts'
import { type Head, setHead } from '../head.ts'
import type { ProviderOptions } from '../provider.ts'
import { answerUnavailable } from '../unavailable.ts'
import type { AccessTokenSigner } from './access-token-signer.ts'
import { type PlainRequest, readPlainRequest } from './plain-request.ts'
import { hasSmallForm, takeForm } from './small-form.ts'
import { grantedClaims } from './token-claims.ts'

/** Answers token requests. @param head Headers that are sent with the answer's own. */
export type TokenHandler = (req: IncomingMessage, res: ServerResponse, head: Head) => Promise<void>

/** What the engine says of each answer with a token. */
const HEAD: Head = ['vary', 'Origin', 'cache-control', 'no-store', 'content-type', 'application/json; charset=utf-8']

/** A request that has been recognised, and who it says it is from. */
interface Recognised extends PlainRequest {
  readonly userId: string
  readonly projectName: string
}

interface Granted {
  readonly clientId: string
  readonly secretId: string
  readonly grant: GrantedToken
}

/** What a key ring issues tokens with. */
export interface Issuing {
  readonly engine: (req: IncomingMessage, res: ServerResponse) => Promise<void>
  readonly write: AccessTokenSigner
}

/**
 * Makes a handler that leaves to the engine what it does not answer itself.
 *
 * @param issuing By the newest key ring; null while no key can sign. Asked when the form is here, however long that takes:
 * a key that was replaced or revoked meanwhile signs no more.
 */
export function createFastPath(issuing: () => Issuing | null, options: ProviderOptions): TokenHandler {
  const { issuer, tokenLifetimeSeconds: lifetimeSeconds, now, secretUses, notes } = options
  return async (req, res, head) => {
    let granted: Granted | undefined | null
    try {
      granted = hasSmallForm(req) ? await takeForm(req, (form) => decide(req, form, options)) : undefined
    } catch (error) {
      if (!isUnavailable(error)) throw error
      return answerUnavailable(req, res, { head, notes })
    }
    if (granted === null) return
    const by = issuing()
    if (by === null) return answerUnavailable(req, res, { head, notes })
    if (granted === undefined) {
      setHead(res, head)
      return by.engine(req, res)
    }

    const { clientId, secretId, grant } = granted
    const claims = grantedClaims(grant, { now: now(), lifetimeSeconds })
    const token = await by.write({ ...claims, client_id: clientId, iss: issuer })
    secretUses.note(secretId, now())
    send(res, head, answerWith(token, { scope: claims.scope, lifetimeSeconds }))
  }
}

/** Null, sooner or later: the client has left. A promise fails if the user has to be looked up and cannot be. */
function decide(
  req: IncomingMessage,
  form: string,
  options: ProviderOptions,
): Granted | undefined | Promise<Granted | undefined | null> {
  const request = recognise(req, form, options)
  if (request === undefined) return undefined
  beginAuthentication(req)
  options.notes.identified(req, request.clientId)
  const user = options.directory.recallServiceUser(request.userId)
  const granted = user === undefined ? undefined : grant(user, request, options)
  // What is not in memory may have been made elsewhere a moment ago.
  return granted ?? lookUp(req, request, options)
}

async function lookUp(
  req: IncomingMessage,
  request: Recognised,
  options: ProviderOptions,
): Promise<Granted | undefined | null> {
  const { directory, attempts, notes, now } = options
  const { userId, clientId, secret } = request
  const user = await readNamed(req, request, options)
  const granted = grant(user, request, options)
  if (granted !== undefined) return granted
  leaveFound(req, { userId, user })
  if (req.readable) return undefined
  // The client has left, so the engine could not read what it should count.
  const proved = matchingSecret(directory.secrets, user, { secret, now: now() })
  if (proved === undefined) {
    attempts.fail({ name: clientId, address: notes.addressOf(req) })
    if (user !== undefined) writeDownFailure(req, userId, options)
  }
  return null
}

function recognise(req: IncomingMessage, form: string, { attempts, notes }: ProviderOptions): Recognised | undefined {
  const request = readPlainRequest(req.headers, form)
  const named = request === undefined ? undefined : splitClientId(request.clientId)
  if (request === undefined || named === undefined) return undefined
  const { clientId, secret, scope } = request
  if (attempts.blockedForSeconds({ name: clientId, address: notes.addressOf(req) }) > 0) return undefined
  return { clientId, secret, scope, userId: named.userId, projectName: named.projectName }
}

function grant(
  user: ServiceUser | undefined,
  { clientId, secret, scope, projectName }: Recognised,
  { issuer, now, directory }: ProviderOptions,
): Granted | undefined {
  // Also without a user, so that the time tells nothing about who exists.
  const proved = matchingSecret(directory.secrets, user, { secret, now: now() })
  if (user === undefined || proved === undefined) return undefined
  const granted = decideTokenGrant(user, { projectName, scope, serviceAudience: issuer })
  if (granted.kind === 'denied') return undefined
  return { clientId, secretId: proved.secretId, grant: granted }
}

/** The JSON of the answer (RFC 6749 §5.1). Nothing in a token needs to be escaped, and looking for that takes long. */
function answerWith(
  token: string,
  { scope, lifetimeSeconds }: { readonly scope: string; readonly lifetimeSeconds: number },
): string {
  const members = JSON.stringify({ expires_in: lifetimeSeconds, scope, token_type: 'Bearer' })
  return `{"access_token":"${token}",${members.slice(1)}`
}

/** The answer of the engine, header by header. A text goes out in one piece with the headers; it is nothing but ASCII. */
function send(res: ServerResponse, head: Head, body: string): void {
  res.writeHead(200, [...head, ...HEAD, 'content-length', String(body.length)])
  res.end(body, 'latin1')
}
