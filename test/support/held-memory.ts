/**
 * How much memory a server holds on to: what is left after a collection, in the main thread and in others. What the system counts depends on when a process last had a reason to collect.
 *
 * Asks with the protocol of the debugger (Chrome DevTools Protocol), so the server must be started with `INSPECTABLE`.
 */
import type { Keyturn } from './keyturn.ts'

/** Variables of a server that can be asked. */
export const INSPECTABLE = { NODE_OPTIONS: '--inspect=127.0.0.1:0' }

const MEBIBYTE = 1_048_576
/** Finalizers that run after the first one let go of what only the second one can free. */
const COLLECTIONS = 2

/** What a server holds after a collection, in mebibytes. @throws {Error} if it cannot be asked. */
export async function heldMebibytes(server: Pick<Keyturn, 'output'>): Promise<number> {
  const held = await inspecting(server, (threads) => Promise.all(threads.map(heldBytes)))
  return held.reduce((sum, bytes) => sum + bytes, 0) / MEBIBYTE
}

/** Makes a server collect what it does not need any more. @throws {Error} if it cannot be asked. */
export async function collectGarbage(server: Keyturn): Promise<void> {
  await inspecting(server, (threads) => Promise.all(threads.map(collect)))
}

async function inspecting<T>(
  server: Pick<Keyturn, 'output'>,
  work: (threads: readonly Session[]) => Promise<T>,
): Promise<T> {
  const address = /^Debugger listening on (ws:\S+)$/m.exec(server.output().stderr)?.[1]
  if (address === undefined) throw new Error('the server was not started to be inspected')
  const socket = new WebSocket(address)
  try {
    return await work(await threadsBehind(socket))
  } finally {
    socket.close()
  }
}

async function collect(thread: Session): Promise<void> {
  for (let i = 0; i < COLLECTIONS; i += 1) await thread.call('HeapProfiler.collectGarbage')
}

async function heldBytes(thread: Session): Promise<number> {
  await collect(thread)
  const question = { expression: 'process.memoryUsage()', returnByValue: true }
  const { result } = await thread.call<{ result: { value: NodeJS.MemoryUsage } }>('Runtime.evaluate', question)
  return result.value.heapUsed + result.value.external
}

/** The main thread of the process, and the others that it has. */
async function threadsBehind(socket: WebSocket): Promise<Session[]> {
  const main = new Session((text) => socket.send(text))
  const others = new Map<string, Session>()
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve())
    socket.addEventListener('error', () => reject(new Error('the server does not let itself be inspected')))
  })
  socket.addEventListener('close', () => {
    for (const session of [main, ...others.values()]) session.end()
  })
  socket.addEventListener('message', ({ data }) => {
    const event = main.receive(data)
    if (event === undefined) return
    const { sessionId, message } = event.params
    if (event.method === 'NodeWorker.attachedToWorker') {
      const forward = (message: string) => {
        // Answered as soon as it is forwarded; what the thread answers comes as an event.
        main.call('NodeWorker.sendMessageToWorker', { sessionId, message }).catch(() => {})
      }
      others.set(sessionId, new Session(forward))
    }
    if (event.method === 'NodeWorker.receivedMessageFromWorker') others.get(sessionId)?.receive(message)
  })
  // Tells of each thread that there is, and then answers.
  await main.call('NodeWorker.enable', { waitForDebuggerOnStart: false })
  return [main, ...others.values()]
}

/** An event that has to do with threads. */
interface ThreadEvent {
  readonly method: string
  readonly params: { readonly sessionId: string; readonly message: string }
}

/** The calls that are made to one thread. */
class Session {
  readonly #send: (text: string) => void
  readonly #waiting = new Map<number, PromiseWithResolvers<never>>()
  #lastId = 0

  constructor(send: (text: string) => void) {
    this.#send = send
  }

  call<T>(method: string, params: object = {}): Promise<T> {
    const id = ++this.#lastId
    const waiting = Promise.withResolvers<never>()
    this.#waiting.set(id, waiting)
    this.#send(JSON.stringify({ id, method, params }))
    return waiting.promise
  }

  /** Settles the call that this answers, or returns the event that it is. */
  receive(text: string): ThreadEvent | undefined {
    const { id, result, error, ...event } = JSON.parse(text) as {
      id?: number
      result?: never
      error?: { message: string }
    } & ThreadEvent
    if (id === undefined) return event
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error === undefined) waiting?.resolve(result as never)
    else waiting?.reject(new Error(error.message))
    return undefined
  }

  end(): void {
    for (const { reject } of this.#waiting.values()) reject(new Error('the server has stopped to be inspected'))
    this.#waiting.clear()
  }
}
