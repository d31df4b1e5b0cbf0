/**
 * Plain HTTP, with the failures told apart that a load balancer tells apart.
 */
import { Agent, type IncomingHttpHeaders, type RequestOptions, request } from 'node:http'
import { text } from 'node:stream/consumers'

/** Longer than anything a server may take. */
const PATIENCE_MILLIS = 20_000

/** Why there was no answer. `silent`: the connection stayed open and nothing came. */
export type Disconnection = 'refused' | 'reset' | 'silent'

/** No answer. After `refused` nothing can have happened on the other side; after the others it is not known. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
  readonly disconnection: Disconnection

  constructor(disconnection: Disconnection, cause: unknown) {
    super(`no answer: ${disconnection}`, { cause })
    this.disconnection = disconnection
  }
}

/** An answer, whatever its status. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** What to ask. */
export interface Question {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends a request. @throws {NoAnswer} */
export type Send = (url: string, question?: Question) => Promise<Answer>

/** A client that keeps its connections. After `close` every request fails with another error than `NoAnswer`. */
export function createHttpClient(): { readonly send: Send; close(): void } {
  const agent = new Agent({ keepAlive: true })
  let closed = false
  const send: Send = (url, { method = 'GET', headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
      if (closed) return reject(new Error('the scenario is over'))
      const options: RequestOptions = { method, headers, agent, signal: AbortSignal.timeout(PATIENCE_MILLIS) }
      const fail = (error: unknown) => reject(new NoAnswer(disconnectionOf(error), error))
      const outgoing = request(url, options, (response) => {
        text(response).then(
          (body) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
          fail,
        )
      })
      outgoing.on('error', fail)
      outgoing.end(body)
    })
  const close = () => {
    closed = true
    agent.destroy()
  }
  return { send, close }
}

function disconnectionOf(error: unknown): Disconnection {
  const { code, name } = error as { code?: string; name?: string }
  if (code === 'ECONNREFUSED') return 'refused'
  return name === 'AbortError' || name === 'TimeoutError' ? 'silent' : 'reset'
}
