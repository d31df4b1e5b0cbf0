/**
 * An issuer whose token endpoint and JWKS answer what a test says, over a real socket: for what a real server does not do on demand.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** Answers one request. */
export type Answer = (response: ServerResponse) => void

/** A running issuer. */
export interface ScriptedIssuer {
  readonly issuer: string
  /** The forms that the token endpoint got so far. */
  readonly forms: URLSearchParams[]
  /** How often the JWKS was fetched. */
  readonly jwksFetches: () => number
  /** What the token endpoint answers from now on, one after the other; the last one again and again. */
  answer(...answers: Answer[]): void
  /** What the JWKS answers from now on. */
  publish(answer: Answer): void
  /** What discovery says, unless it is the truth. */
  describe(metadata: Readonly<Record<string, unknown>>): void
  stop(): Promise<void>
}

/** A JSON body with a status and headers. */
export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  }
}

/** A token that was issued. */
export function issued(token: string, lifetimeSeconds = 1000): Answer {
  return json(200, { access_token: token, token_type: 'Bearer', expires_in: lifetimeSeconds })
}

/** Starts one on a free port. */
export async function startScriptedIssuer(): Promise<ScriptedIssuer> {
  const forms: URLSearchParams[] = []
  let answers: Answer[] = [issued('token')]
  let jwks: Answer = json(200, { keys: [] })
  let fetches = 0
  let metadata: Readonly<Record<string, unknown>> = {}
  const server = createServer((request, response) => {
    void (async () => {
      if (request.url === '/token') {
        forms.push(new URLSearchParams(await text(request)))
        const [first] = answers
        if (answers.length > 1) answers.shift()
        first?.(response)
      } else if (request.url === '/jwks') {
        fetches += 1
        jwks(response)
      } else {
        json(200, { issuer, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/jwks`, ...metadata })(response)
      }
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    issuer,
    forms,
    jwksFetches: () => fetches,
    answer: (...next) => {
      answers = next
    },
    publish: (next) => {
      jwks = next
    },
    describe: (next) => {
      metadata = next
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
