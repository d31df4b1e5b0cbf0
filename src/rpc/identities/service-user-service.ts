/** `iam.user.v2.ServiceUserService`: users and their grants. Its other half is `credential-services.ts`. */
import type { ServiceImpl } from '@connectrpc/connect'
import type { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import type { Introspection } from '../../app/access/introspection.ts'
import type { Credentials } from '../../app/identities/credentials.ts'
import type { ServiceUserEdit, ServiceUsers } from '../../app/identities/service-users.ts'
import { type ServiceUser, switchesOf, USER_SWITCHES } from '../../domain/identities/service-user.ts'
import { answering, done, listing } from '../authorization/methods.ts'
import { maskedBy, required, toSeconds } from '../messages/fields.ts'
import { byDate, listPage } from '../messages/paging.ts'
import { credentialCalls } from './credential-services.ts'
import { fromServiceUser, toInstanceRole } from './service-user-mapping.ts'

const USERS = byDate(
  ({ createdAt, userId }: ServiceUser) => ({ date: createdAt, id: userId }),
  ({ date, id }) => ({ createdAt: date, userId: id }),
)

const answer = answering((user: ServiceUser) => ({ serviceUser: fromServiceUser(user) }))

export function serviceUserService(
  users: ServiceUsers,
  credentials: Credentials,
  introspection: Pick<Introspection, 'examine'>,
): ServiceImpl<typeof ServiceUserService> {
  return {
    ...credentialCalls(credentials),
    createServiceUser: answer((actor, req) => {
      const { projectId, name } = req
      return users.create(actor, { projectId, name, ...switchesOf(req) })
    }),
    getServiceUser: answer((actor, { userId }) => users.get(actor, userId)),
    listServiceUsers: listing('serviceUsers', fromServiceUser, (actor, req) => {
      const filter = { projectId: req.projectId === '' ? null : req.projectId, search: req.search }
      return listPage(req, USERS, (page) => users.list(actor, filter, page))
    }),
    updateServiceUser: answer((actor, req) => {
      const { tokenLifetime } = req
      const edit = maskedBy<ServiceUserEdit>(req.updateMask, {
        name: () => ({ name: required(req.name, 'name') }),
        // Without one: as the instance has it.
        token_lifetime: () => ({
          tokenLifetimeSeconds: tokenLifetime === undefined ? null : toSeconds(tokenLifetime, 'token_lifetime'),
        }),
        token_claims: () => ({ tokenClaims: req.tokenClaims }),
        ...Object.fromEntries(USER_SWITCHES.map((name) => [snakeCase(name), () => ({ [name]: req[name] })])),
      })
      return users.edit(actor, req.userId, edit)
    }),
    enableServiceUser: answer((actor, { userId }) => users.setEnabled(actor, userId, true)),
    disableServiceUser: answer((actor, { userId }) => users.setEnabled(actor, userId, false)),
    deleteServiceUser: done((actor, { userId }) => users.delete(actor, userId)),
    revokeTokens: done((actor, { userId }) => users.revokeTokens(actor, userId)),
    async introspectToken(req) {
      const examined = await introspection.examine(req.token)
      return examined.kind === 'active' ? { active: true } : { active: false, reason: examined.reason }
    },
    setInstanceRoles: answer((actor, { userId, instanceRoles }) =>
      users.setInstanceRoles(actor, userId, instanceRoles.map(toInstanceRole)),
    ),
    grantProjectRole: answer((actor, req) => users.setProjectRole(actor, req.userId, req, true)),
    revokeProjectRole: answer((actor, req) => users.setProjectRole(actor, req.userId, req, false)),
    grantScope: answer((actor, { userId, scope }) => users.setScope(actor, userId, scope, true)),
    revokeScope: answer((actor, { userId, scope }) => users.setScope(actor, userId, scope, false)),
  }
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
