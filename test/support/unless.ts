/**
 * Tests that need what a machine may not have. There they are reported as skipped, and their names say why.
 */
import { describe, it } from '@jest/globals'

/** Why tests that look at processes, or use several loopback addresses, cannot run here; undefined if they can. */
export const NOT_LINUX = process.platform === 'linux' ? undefined : 'this is not Linux'

/** Why tests that run something as another user cannot run here; undefined if they can. */
export const NOT_ROOT = process.getuid?.() === 0 ? undefined : 'the tests are not run by root'

/** `it`, unless there is an obstacle. */
export function itUnless(obstacle: string | undefined) {
  return (name: string, test: () => void | Promise<void>, timeout?: number): void => {
    if (obstacle === undefined) it(name, test, timeout)
    else it.skip(because(obstacle, name), test, timeout)
  }
}

/** `describe`, unless there is an obstacle. */
export function describeUnless(obstacle: string | undefined) {
  return (name: string, tests: () => void): void => {
    if (obstacle === undefined) describe(name, tests)
    else describe.skip(because(obstacle, name), tests)
  }
}

function because(obstacle: string, name: string): string {
  return `${name} (skipped: ${obstacle})`
}
