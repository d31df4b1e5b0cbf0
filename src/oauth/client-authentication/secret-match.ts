/**
 * Which client secret a request proves. The only place that compares one.
 */
import { type ClientSecret, isLive } from '../../domain/identities/credential.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { ClientSecrets } from '../../domain/integrity.ts'

/**
 * The secret of the user that this is, if it can be used now and the user is enabled.
 *
 * @param user Undefined if there is none, which takes as long as a wrong secret.
 */
export function matchingSecret(
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
  // Which one it was is only asked about a secret that is right, so the time of that tells nothing.
  return live.length === 1 ? live[0] : live.find(({ hash }) => secrets.matches(secret, [hash]))
}
