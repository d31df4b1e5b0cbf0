/**
 * A receiver of webhooks over https that keeps what it got, answers what a test says, and verifies by the library of Standard Webhooks.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import type { TestAuthority } from './server-certificates.ts'

/** A request as it came. */
export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly event: ReceivedEvent
}

/** A CloudEvent of Keyturn. */
export interface ReceivedEvent {
  readonly id: string
  readonly type: string
  readonly source: string
  readonly subject?: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Answers one request, whose body was read. */
export type Answer = (response: ServerResponse, received: Received, request: IncomingMessage) => void

/** A running receiver. */
export interface WebhookReceiver {
  /** `https://localhost:<port>/events`. */
  readonly url: string
  /** Everything that came, whatever it was answered. */
  readonly received: Received[]
  /** The ids of events that were answered 2xx, in order. */
  readonly accepted: string[]
  /** What it answers from now on. */
  answer(answer: Answer): void
  stop(): Promise<void>
}

/** Answers with a status alone. */
export function status(code: number, headers: Readonly<Record<string, string>> = {}): Answer {
  return (response) => {
    response.writeHead(code, headers).end()
  }
}

/** The event, if its signature is by the secret. @throws {WebhookVerificationError} */
export function verified(secret: string, { headers, body }: Received): unknown {
  return new Webhook(secret).verify(body, headers as Record<string, string>)
}

/** Starts one on 127.0.0.1. @param port Default: a free one. */
export async function startReceiver(authority: TestAuthority, port = 0): Promise<WebhookReceiver> {
  const received: Received[] = []
  const accepted: string[] = []
  let answer = status(204)
  const server = createServer(authority.issue(), async (request, response) => {
    const body = await text(request).catch(() => '')
    if (body === '') return
    const event = JSON.parse(body) as ReceivedEvent
    const got = { headers: request.headers, body, event }
    received.push(got)
    response.on('finish', () => {
      if (response.statusCode >= 200 && response.statusCode < 300) accepted.push(event.id)
    })
    answer(response, got, request)
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}/events`,
    received,
    accepted,
    answer: (next) => {
      answer = next
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
