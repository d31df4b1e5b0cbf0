/**
 * The signals that stop a server.
 */

/** Ctrl-C, and what service managers send. */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const

export type StopSignal = (typeof STOP_SIGNALS)[number]

/** Whether a server drains at the signal: not at Ctrl-C in a terminal, where a developer waits for the end. */
export function drainsAt(signal: StopSignal): boolean {
  return signal === 'SIGTERM'
}

/** Aborts at the first of them, so that a command ends the programs that it has started. Then the signal ends the process. */
export function abortAtSignal(): AbortSignal {
  const stopping = new AbortController()
  void firstSignal().then((signal) => {
    stopping.abort(new Error(`interrupted by ${signal}`))
    setImmediate(() => process.kill(process.pid, signal))
  })
  return stopping.signal
}

/** The first of them. Its handlers are removed then, so the next one ends the process. */
export function firstSignal(): Promise<StopSignal> {
  const { promise, resolve } = Promise.withResolvers<StopSignal>()
  const listener = (signal: NodeJS.Signals): void => {
    for (const name of STOP_SIGNALS) process.off(name, listener)
    resolve(signal as StopSignal)
  }
  for (const name of STOP_SIGNALS) process.on(name, listener)
  return promise
}
