/**
 * The signals that tell a server to stop.
 */

/** Ctrl-C, and what service managers send. */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** One of them. */
export type StopSignal = (typeof STOP_SIGNALS)[number]

/** The first of them. After that nobody listens any more, so the next one ends the process. */
export function firstSignal(): Promise<StopSignal> {
  const { promise, resolve } = Promise.withResolvers<StopSignal>()
  const listener = (signal: NodeJS.Signals): void => {
    for (const name of STOP_SIGNALS) process.off(name, listener)
    resolve(signal as StopSignal)
  }
  for (const name of STOP_SIGNALS) process.on(name, listener)
  return promise
}
