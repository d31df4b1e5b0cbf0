/**
 * A change as it is named: the number alone can come back after a fail-over.
 */
import type { InstanceStatus } from '../../domain/ports.ts'

/** Which change an instance is at. */
export type ChangeName = Pick<InstanceStatus, 'version' | 'changedAt'>

/** Whether two are the same change. */
export function isSameChange(a: ChangeName, b: ChangeName): boolean {
  return a.version === b.version && a.changedAt?.getTime() === b.changedAt?.getTime()
}
