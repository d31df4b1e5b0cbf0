/**
 * Verifies client secrets.
 */
import { type ClientSecret, isLive } from '../../domain/identities/credential.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { ClientSecrets } from '../../domain/integrity.ts'

/**
 * Returns the live secret that matches, if the user is enabled.
 *
 * @param user Undefined if there is none, which takes the same time as a wrong secret.
 */
export function verifySecret(
  secrets: Pick<ClientSecrets, 'matches'>,
  user: ServiceUser | undefined,
  { secret, now }: { readonly secret: string; readonly now: Date },
): ClientSecret | undefined {
  const live = (user?.secrets ?? []).filter((candidate) => isLive(candidate, now))
  const matches = secrets.matches(
    secret,
    live.map(({ hash }) => hash),
  )
  if (!matches || user?.enabled !== true) return undefined
  // Not in constant time, but for a right secret only.
  return live.length === 1 ? live[0] : live.find(({ hash }) => secrets.matches(secret, [hash]))
}
