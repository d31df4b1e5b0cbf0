/**
 * A machine that has an account: what it is, and which of its secrets work.
 */
import type { InstanceRole } from './permission.ts'

/** A client secret as it is kept: never the secret itself. */
export interface ClientSecret {
  readonly secretId: string
  /** SHA-256 of the secret. */
  readonly hash: Uint8Array
  readonly expiresAt: Date | null
  readonly deactivatedAt: Date | null
}

/** A service user with everything that deciding about its tokens and calls needs. */
export interface ServiceUser {
  readonly userId: string
  readonly name: string
  readonly projectId: string
  readonly projectName: string
  /** A disabled user can do nothing. */
  readonly enabled: boolean
  /** Whether the client credentials grant is enabled for the user (Spec §5). */
  readonly clientCredentialsEnabled: boolean
  readonly secrets: readonly ClientSecret[]
  readonly instanceRoles: readonly InstanceRole[]
  /** Roles by the id of the project that they are roles of. */
  readonly projectRoles: ReadonlyMap<string, readonly string[]>
  /** Custom scopes that are configured on the user's project and granted to the user. */
  readonly customScopes: readonly string[]
}

/** Whether a secret can still be used. */
export function isLive(secret: ClientSecret, now: Date): boolean {
  if (secret.deactivatedAt !== null && secret.deactivatedAt <= now) return false
  return secret.expiresAt === null || now < secret.expiresAt
}
