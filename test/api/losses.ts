/**
 * The ways in which a caller loses its right while a call of it is under way.
 */
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { decodeProtectedHeader } from 'jose'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import type { Administration } from '../support/administration.ts'
import { type AdminCredentials, requestToken } from '../support/keyturn.ts'

/** An owner with a token. */
export interface Caller {
  readonly userId: string
  readonly token: string
}

/** Who gives rights and takes them away, and where tokens come from. */
export interface Instance {
  readonly admin: Administration
  readonly endpoint: AdminCredentials
  /** The project of the callers. */
  readonly projectId: string
}

/** One way to lose it. */
export interface Loss {
  readonly loss: string
  newCaller(instance: Instance): Promise<Caller>
  takeAway(instance: Instance, caller: Caller): Promise<unknown>
  /** What is left: a role, none, or nothing that proves who the caller is. */
  readonly left: 'IAM_OWNER_VIEWER' | 'no role' | 'no identity'
}

/** All of them, but for the passing of time. */
export const LOSSES: readonly Loss[] = [
  {
    loss: 'its user is deleted',
    newCaller: withAccessToken,
    takeAway: ({ admin }, { userId }) => admin.users.deleteServiceUser({ userId }),
    left: 'no identity',
  },
  {
    loss: 'its user is disabled',
    newCaller: withAccessToken,
    takeAway: ({ admin }, { userId }) => admin.users.disableServiceUser({ userId }),
    left: 'no identity',
  },
  {
    loss: 'its user loses every role',
    newCaller: withAccessToken,
    takeAway: ({ admin }, { userId }) => admin.users.setInstanceRoles({ userId, instanceRoles: [] }),
    left: 'no role',
  },
  {
    loss: 'its user is made a viewer',
    newCaller: withPersonalAccessToken,
    takeAway: ({ admin }, { userId }) =>
      admin.users.setInstanceRoles({ userId, instanceRoles: [InstanceRole.IAM_OWNER_VIEWER] }),
    left: 'IAM_OWNER_VIEWER',
  },
  {
    loss: 'its personal access token is revoked',
    newCaller: withPersonalAccessToken,
    takeAway: async ({ admin }, { userId }) => {
      const { personalAccessTokens } = await admin.users.listPersonalAccessTokens({ userId })
      return admin.users.revokePersonalAccessToken({ userId, tokenId: personalAccessTokens[0]!.tokenId })
    },
    left: 'no identity',
  },
  {
    loss: 'all its access tokens are revoked',
    newCaller: withAccessToken,
    takeAway: ({ admin }, { userId }) => admin.users.revokeTokens({ userId }),
    left: 'no identity',
  },
  {
    loss: 'the web key of its access token is revoked',
    newCaller: async (instance) => {
      const caller = await withAccessToken(instance)
      const { keys } = instance.admin
      // The next key signs before that one is revoked, so that no other key has to take over.
      const { webKey } = await keys.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
      await keys.activateWebKey({ keyId: webKey!.keyId })
      return caller
    },
    takeAway: ({ admin }, { token }) => admin.keys.revokeWebKey({ keyId: decodeProtectedHeader(token).kid! }),
    left: 'no identity',
  },
]

/** A new owner with an access token. */
export async function withAccessToken(instance: Instance): Promise<Caller> {
  const userId = await newOwner(instance)
  const { clientId, clientSecret } = await instance.admin.users.generateClientSecret({ userId })
  const token = await requestToken({ ...instance.endpoint, client_id: clientId, client_secret: clientSecret })
  return { userId, token }
}

/** A personal access token of a user, for an hour. */
export async function newPersonalAccessToken({ users }: Administration, userId: string): Promise<string> {
  const expirationDate = timestampFromDate(new Date(Date.now() + 3_600_000))
  return (await users.createPersonalAccessToken({ userId, expirationDate })).token
}

async function withPersonalAccessToken(instance: Instance): Promise<Caller> {
  const userId = await newOwner(instance)
  return { userId, token: await newPersonalAccessToken(instance.admin, userId) }
}

async function newOwner({ admin: { users }, projectId }: Instance): Promise<string> {
  const { serviceUser } = await users.createServiceUser({ projectId, name: 'caller', clientCredentialsEnabled: true })
  const { userId } = serviceUser!
  await users.setInstanceRoles({ userId, instanceRoles: [InstanceRole.IAM_OWNER] })
  return userId
}
