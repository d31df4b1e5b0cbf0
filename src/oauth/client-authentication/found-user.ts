/**
 * The user that a request has been found to name, for the engine, which would look for it again.
 */
import type { IncomingMessage } from 'node:http'
import type { ServiceUser } from '../../domain/identities/service-user.ts'

const FOUND = Symbol('found')

/** What a look-up came to. */
interface Found {
  readonly userId: string
  /** Undefined: there is no such user. */
  readonly user: ServiceUser | undefined
}

/** A request, perhaps with what has been found. */
type Named = IncomingMessage & { [FOUND]?: Found }

/** Leaves what was found with the request. */
export function leaveFound(req: Named, found: Found): void {
  req[FOUND] = found
}

/** What was found for this id, if anything has been left. */
export function foundBefore(req: Named, userId: string): Found | undefined {
  const found = req[FOUND]
  return found?.userId === userId ? found : undefined
}
