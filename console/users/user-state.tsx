/**
 * Whether a user works, as a badge.
 */
import type { ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'

export function UserState({ user }: { readonly user: ServiceUser }) {
  if (!user.enabled) return <span class="badge is-danger">disabled</span>
  if (!user.clientCredentialsEnabled) return <span class="badge">gets no tokens</span>
  return <span class="badge is-success">enabled</span>
}
