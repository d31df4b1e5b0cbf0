/**
 * What Keyturn knows about a token that no verifier can see: whether it was revoked, or its user disabled.
 */
import type { CallOptions } from '@connectrpc/connect'
import { serviceUsers } from '../api/clients.ts'
import { failureOf } from '../api/failure.ts'

/** What Keyturn says. */
export type Introspection =
  | { readonly kind: 'active' }
  | { readonly kind: 'inactive'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly message: string }

/** Asks Keyturn about a token that it issued. */
export async function introspect(token: string, options: CallOptions): Promise<Introspection> {
  try {
    const { active, reason } = await serviceUsers.introspectToken({ token }, options)
    return active ? { kind: 'active' } : { kind: 'inactive', reason }
  } catch (error) {
    return { kind: 'unknown', message: failureOf(error).message }
  }
}
