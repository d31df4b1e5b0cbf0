/**
 * A client that does everything right, and wants an answer to each request.
 */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import type { AdminCredentials } from '../support/keyturn.ts'

/** How long it waits for an answer, in milliseconds: ten times what it takes on a machine that is busy besides. */
const PATIENCE = 30_000

/** How long it waits before it repeats a call, in milliseconds. */
const PAUSE = 250

/** What it has got. */
export interface Served {
  readonly rounds: number
  readonly slowestMillis: number
}

/**
 * Gets a token, reads the key set and calls an RPC, one after the other and again, until `flood` has ended. Only the RPC may
 * take more than one attempt.
 *
 * @throws {Error} as soon as one request is not answered as it should be, within its time.
 */
export async function beServedDuring(
  flood: Promise<unknown>,
  { admin, ca }: { readonly admin: AdminCredentials; readonly ca?: Buffer },
): Promise<Served> {
  let rounds = 0
  let slowestMillis = 0
  let isOver = false
  const ended = flood.finally(() => {
    isOver = true
  })
  const ask = async (
    path: string,
    options: { readonly body?: string; readonly headers?: Record<string, string> } = {},
  ) => {
    const startedAt = performance.now()
    const answer = await send(new URL(path, admin.base_url), { ...options, ...(ca === undefined ? {} : { ca }) })
    slowestMillis = Math.max(slowestMillis, Math.round(performance.now() - startedAt))
    return answer
  }
  const round = async () => {
    const { client_id, client_secret, token_endpoint } = admin
    const scope = 'openid urn:service:iam:org:project:id:service:aud'
    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
    const { access_token } = await ask(token_endpoint, {
      body: `${form}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    const { keys } = await ask('/.well-known/openid-configuration/jwks')
    const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' }
    const { webKeys } = await untilAvailable(() =>
      ask('/iam.webkey.v2beta.WebKeyService/ListWebKeys', { body: '{}', headers }),
    )
    if (keys?.length !== 1 || webKeys?.length !== 1) throw new Error('the answers are wrong')
    rounds += 1
  }
  do await round()
  while (!isOver)
  await ended
  await round()
  return { rounds, slowestMillis }
}

interface Answer {
  readonly access_token?: string
  readonly keys?: unknown[]
  readonly webKeys?: unknown[]
}

/**
 * Repeats a call of the API that is answered with 503: a connection to the database that a busy process does not read for 3
 * seconds counts as lost, which makes administration unavailable for a second.
 */
async function untilAvailable(call: () => Promise<Answer>): Promise<Answer> {
  const deadline = performance.now() + PATIENCE
  for (;;) {
    try {
      return await call()
    } catch (error) {
      const isUnavailable = (error as { readonly status?: number }).status === 503
      if (!isUnavailable || performance.now() > deadline) throw error
      await delay(PAUSE)
    }
  }
}

/** Each request on a connection of its own: getting one is what floods make hard. */
async function send(
  url: URL,
  { body, headers, ca }: { readonly body?: string; readonly headers?: Record<string, string>; readonly ca?: Buffer },
): Promise<Answer> {
  const agent = url.protocol === 'https:' ? new HttpsAgent({ ca }) : new HttpAgent()
  const options = { method: body === undefined ? 'GET' : 'POST', headers, agent, signal: AbortSignal.timeout(PATIENCE) }
  const request = url.protocol === 'https:' ? requestHttps(url, options) : requestHttp(url, options)
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve).once('error', (cause) => reject(new Error(`${url.pathname} failed`, { cause })))
    request.end(body)
  })
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  if (response.statusCode !== 200) {
    const message = `${url.pathname} was answered with ${response.statusCode}: ${text}`
    throw Object.assign(new Error(message), { status: response.statusCode })
  }
  return JSON.parse(text) as Answer
}
