/**
 * A wire between a client and PostgreSQL that knows where a statement begins and ends, and can freeze at one, as a client
 * does that is stopped there.
 */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { freePort } from './free-port.ts'

/** What the server still gets of the statement at which it freezes: nothing; or all of it, and the client gets no answer. */
export type FreezePoint = 'before' | 'after'

/** A running proxy. */
export interface StatementProxy {
  readonly port: number
  /** The statements so far, of all connections. */
  readonly statements: readonly string[]
  /**
   * Freezes all connections at the n-th statement from now, counted from 1, or at the first one with a text. Resolves when
   * that has come.
   */
  freezeAt(statement: number | string, point: FreezePoint): Promise<void>
  /** Passes on what has been held back, and all that comes after. */
  thaw(): void
  close(): Promise<void>
}

/** Everything up to the point where the client waits for an answer. */
interface Flight {
  readonly messages: readonly Buffer[]
  readonly statement: string
}

/** Starts a proxy on 127.0.0.1. The client must not ask for TLS. */
export async function startStatementProxy(targetPort: number): Promise<StatementProxy> {
  const sockets = new Set<Socket>()
  const servers = new Set<Socket>()
  const statements: string[] = []
  let trap:
    | { readonly isAt: (statement: string) => boolean; readonly point: FreezePoint; readonly sprung: () => void }
    | undefined
  let held: (() => void)[] | undefined

  const pass = (send: () => void): void => {
    if (held === undefined) send()
    else held.push(send)
  }
  const freeze = (): void => {
    held = []
    trap = undefined
    // What the server sends then fills the buffers between the two, as if its client did not read any more.
    for (const far of servers) far.pause()
  }
  const forward = ({ messages, statement }: Flight, far: Socket): void => {
    if (statement !== '') statements.push(statement)
    if (statement === '' || trap === undefined || !trap.isAt(statement)) {
      pass(() => far.write(Buffer.concat(messages)))
      return
    }
    const { point, sprung } = trap
    const all = Buffer.concat(messages)
    if (point === 'after') far.write(all, () => sprung())
    else sprung()
    freeze()
    if (point === 'before') pass(() => far.write(all))
  }

  const server = createServer((near) => {
    const far = connect(targetPort, '127.0.0.1')
    servers.add(far)
    far.on('close', () => servers.delete(far))
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => pass(() => other.destroy()))
      socket.on('end', () => pass(() => other.end()))
      socket.on('close', () => sockets.delete(socket))
    }
    const flights = flightsOf()
    near.on('data', (data) => {
      for (const flight of flights(data)) forward(flight, far)
    })
    far.on('data', (data) => pass(() => near.write(data)))
  })
  const port = await freePort()
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    port,
    statements,
    freezeAt: (statement, point) =>
      new Promise((resolve) => {
        let seen = 0
        const isAt = (text: string): boolean => {
          seen += 1
          return typeof statement === 'string' ? text.includes(statement) : seen === statement
        }
        trap = { isAt, point, sprung: resolve }
      }),
    thaw: () => {
      const waiting = held ?? []
      held = undefined
      for (const send of waiting) send()
      for (const far of servers) far.resume()
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
}

/** Cuts what a client sends into flights. https://www.postgresql.org/docs/current/protocol-message-formats.html */
function flightsOf(): (data: Buffer) => Flight[] {
  let rest: Buffer = Buffer.alloc(0)
  let started = false
  let messages: Buffer[] = []
  let statement = ''
  return (data) => {
    rest = Buffer.concat([rest, data])
    const flights: Flight[] = []
    for (;;) {
      // The first message has no type.
      const head = started ? 1 : 0
      if (rest.length < head + 4 || rest.length < head + rest.readUInt32BE(head)) return flights
      const message = rest.subarray(0, head + rest.readUInt32BE(head))
      rest = rest.subarray(message.length)
      messages.push(message)
      const type = started ? String.fromCharCode(message[0] ?? 0) : ''
      started = true
      if (type === 'Q') statement = textAt(message, 5)
      if (type === 'P') statement = textAt(message, message.indexOf(0, 5) + 1)
      // A query, or the end of one with parameters. What belongs to no statement is passed on at once.
      if (type === 'Q' || type === 'S' || statement === '') {
        flights.push({ messages, statement })
        messages = []
        statement = ''
      }
    }
  }
}

function textAt(message: Buffer, start: number): string {
  return message.toString('utf8', start, message.indexOf(0, start))
}
