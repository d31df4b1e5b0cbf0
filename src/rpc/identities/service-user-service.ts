/** `iam.user.v2.ServiceUserService`: users and their grants. Its other half is `credential-services.ts`. */
import type { ServiceImpl } from '@connectrpc/connect'
import type { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import type { Introspection } from '../../app/access/introspection.ts'
import type { Credentials } from '../../app/identities/credentials.ts'
import type { ServiceUserEdit, ServiceUsers } from '../../app/identities/service-users.ts'
import { type ServiceUser, switchesOf, USER_SWITCHES } from '../../domain/identities/service-user.ts'
import { actorOf } from '../authorization/actor.ts'
import { maskedBy, required, toSeconds } from '../messages/fields.ts'
import { byDate, listPage } from '../messages/paging.ts'
import { credentialCalls } from './credential-services.ts'
import { fromServiceUser, toInstanceRole } from './service-user-mapping.ts'

const USERS = byDate(
  ({ createdAt, userId }: ServiceUser) => ({ date: createdAt, id: userId }),
  ({ date, id }) => ({ createdAt: date, userId: id }),
)

export interface ServiceUserServiceOptions {
  readonly users: ServiceUsers
  readonly credentials: Credentials
  readonly introspection: Pick<Introspection, 'examine'>
}

export function serviceUserService({
  users,
  credentials,
  introspection,
}: ServiceUserServiceOptions): ServiceImpl<typeof ServiceUserService> {
  return {
    ...credentialCalls(credentials),

    async createServiceUser(req, context) {
      const { projectId, name } = req
      return answer(await users.create(actorOf(context), { projectId, name, ...switchesOf(req) }))
    },

    async getServiceUser(req, context) {
      return answer(await users.get(actorOf(context), req.userId))
    },

    async listServiceUsers(req, context) {
      const filter = { projectId: req.projectId === '' ? null : req.projectId, search: req.search }
      const { items, nextPageToken } = await listPage(req, USERS, (page) => users.list(actorOf(context), filter, page))
      return { serviceUsers: items.map(fromServiceUser), nextPageToken }
    },

    async updateServiceUser(req, context) {
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
      return answer(await users.edit(actorOf(context), req.userId, edit))
    },

    async enableServiceUser(req, context) {
      return answer(await users.enable(actorOf(context), req.userId))
    },

    async disableServiceUser(req, context) {
      return answer(await users.disable(actorOf(context), req.userId))
    },

    async deleteServiceUser(req, context) {
      await users.delete(actorOf(context), req.userId)
      return {}
    },

    async revokeTokens(req, context) {
      await users.revokeTokens(actorOf(context), req.userId)
      return {}
    },

    async introspectToken(req) {
      const examined = await introspection.examine(req.token)
      return examined.kind === 'active' ? { active: true } : { active: false, reason: examined.reason }
    },

    async setInstanceRoles(req, context) {
      return answer(await users.setInstanceRoles(actorOf(context), req.userId, req.instanceRoles.map(toInstanceRole)))
    },

    async grantProjectRole(req, context) {
      return answer(await users.grantProjectRole(actorOf(context), req.userId, req))
    },

    async revokeProjectRole(req, context) {
      return answer(await users.revokeProjectRole(actorOf(context), req.userId, req))
    },

    async grantScope(req, context) {
      return answer(await users.grantScope(actorOf(context), req.userId, req.scope))
    },

    async revokeScope(req, context) {
      return answer(await users.revokeScope(actorOf(context), req.userId, req.scope))
    },
  }
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function answer(user: ServiceUser) {
  return { serviceUser: fromServiceUser(user) }
}
