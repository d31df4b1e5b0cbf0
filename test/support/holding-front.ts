/**
 * A server in front of another one, which holds a call of the API, for ever or until it is released.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** What happens to one call of the API: it is not passed on, or its response is kept back. */
interface HeldCall {
  readonly method: string
  readonly when: 'before' | 'after'
}

/** The server. */
export interface HoldingFront {
  readonly baseUrl: string
  /** Holds this call from now on, and no other. Resolves when it is held. */
  hold(call: HeldCall): Promise<void>
  /** Passes the response on that is kept back. */
  release(): void
  close(): Promise<unknown>
}

/** Starts one. @param listenUrl Of the server behind it. */
export async function startFront(listenUrl: string): Promise<HoldingFront> {
  let held: (HeldCall & { readonly onHeld: () => void }) | undefined
  const released = Promise.withResolvers<void>()
  const server = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming)
    const call = held !== undefined && incoming.url?.endsWith(`/${held.method}`) ? held : undefined
    if (call?.when === 'before') return call.onHeld()
    const { authorization = '', 'content-type': type = '' } = incoming.headers
    const headers = { authorization, 'content-type': type }
    const response = await fetch(`${listenUrl}${incoming.url}`, { method: 'POST', headers, body })
    const answer = Buffer.from(await response.arrayBuffer())
    if (call !== undefined) {
      call.onHeld()
      await released.promise
    }
    outgoing.writeHead(response.status, { 'content-type': 'application/json' }).end(answer)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold: (call: HeldCall) =>
      new Promise<void>((onHeld) => {
        held = { ...call, onHeld }
      }),
    release: () => {
      held = undefined
      released.resolve()
    },
    close: () => {
      server.closeAllConnections()
      return new Promise((closed) => server.close(closed))
    },
  }
}
