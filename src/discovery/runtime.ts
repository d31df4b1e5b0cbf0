/**
 * Time, randomness and waiting, as every platform has them.
 */

/** What a token source and a verifier take from their platform. Tests put their own in its place. */
export interface Runtime {
  /** Milliseconds since the epoch. */
  now(): number
  /** From 0 to below 1. */
  random(): number
  wait(milliseconds: number): Promise<void>
}

/** That of the platform. */
export const PLATFORM: Runtime = {
  now: () => Date.now(),
  random: () => Math.random(),
  wait: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
}

/** Whether a moment was less than that ago. One in the future was not: the clock has been set back, and the age is unknown. */
export function isWithin(milliseconds: number, moment: number, runtime: Pick<Runtime, 'now'>): boolean {
  const age = runtime.now() - moment
  return age >= 0 && age < milliseconds
}
