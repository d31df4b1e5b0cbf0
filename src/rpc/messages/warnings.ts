/**
 * Warnings about a call that succeeded.
 */
import type { HandlerContext } from '@connectrpc/connect'

/** Response header with warnings, in every protocol; in gRPC it is in the metadata before the message. */
const WARNING_HEADER = 'keyturn-warning'

/** Sends warnings as a header. @param warnings Printable ASCII without semicolons. None: there is no header. */
export function sendWarnings(
  { responseHeader }: Pick<HandlerContext, 'responseHeader'>,
  warnings: readonly string[],
): void {
  if (warnings.length > 0) responseHeader.set(WARNING_HEADER, warnings.join('; '))
}
