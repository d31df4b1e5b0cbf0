/**
 * `iam.user.v2.ServiceUserService`: the credentials of users. Its other half is `service-user-service.ts`.
 *
 * A secret or token leaves the process only in the response to the call that creates it.
 */
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  ClientSecretSchema,
  PersonalAccessTokenSchema,
  UserKeySchema,
  type ClientSecret as WireClientSecret,
  type PersonalAccessToken as WirePersonalAccessToken,
  type UserKey as WireUserKey,
} from '../../../gen/iam/user/v2/service_user_pb.js'
import type { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import type { Credentials } from '../../app/identities/credentials.ts'
import type { ServiceUsers } from '../../app/identities/service-users.ts'
import { formatClientId } from '../../domain/identities/client-id.ts'
import type { ClientSecret, PersonalAccessToken, UserKey } from '../../domain/identities/credential.ts'
import { actorOf } from '../authorization/actor.ts'
import { fromDate, toDate } from '../messages/fields.ts'
import { type DateAndId, listOldestFirst } from '../messages/paging.ts'
import { invalidField } from '../messages/violations.ts'

type CredentialCalls = Pick<
  ServiceImpl<typeof ServiceUserService>,
  | 'generateClientSecret'
  | 'listClientSecrets'
  | 'deactivateClientSecret'
  | 'deleteClientSecret'
  | 'addUserKey'
  | 'listUserKeys'
  | 'removeUserKey'
  | 'createPersonalAccessToken'
  | 'listPersonalAccessTokens'
  | 'revokePersonalAccessToken'
>

const sortKeyOfSecret = ({ createdAt, secretId }: ClientSecret): DateAndId => ({ date: createdAt, id: secretId })
const sortKeyOfKey = ({ createdAt, keyId }: UserKey): DateAndId => ({ date: createdAt, id: keyId })
const sortKeyOfToken = ({ createdAt, tokenId }: PersonalAccessToken): DateAndId => ({ date: createdAt, id: tokenId })

export function credentialCalls(users: ServiceUsers, credentials: Credentials): CredentialCalls {
  return {
    async generateClientSecret(req, context) {
      const expiresAt = toDate(req.expirationDate, 'expiration_date')
      const { user, secret, plainSecret } = await credentials.generateSecret(actorOf(context), req.userId, expiresAt)
      return { secret: fromClientSecret(secret), clientId: formatClientId(user), clientSecret: plainSecret }
    },

    async listClientSecrets(req, context) {
      const { secrets } = await users.get(actorOf(context), req.userId)
      const { items, nextPageToken } = await listOldestFirst(req, secrets, sortKeyOfSecret)
      return { secrets: items.map(fromClientSecret), nextPageToken }
    },

    async deactivateClientSecret(req, context) {
      const secret = await credentials.deactivateSecret(actorOf(context), req.userId, req.secretId)
      return { secret: fromClientSecret(secret) }
    },

    async deleteClientSecret(req, context) {
      await credentials.deleteSecret(actorOf(context), req.userId, req.secretId)
      return {}
    },

    async addUserKey(req, context) {
      const expiresAt = toDate(req.expirationDate, 'expiration_date')
      const keys = await credentials.addKeys(actorOf(context), req.userId, { json: req.publicJwk, expiresAt })
      return { keys: keys.map(fromUserKey) }
    },

    async listUserKeys(req, context) {
      const { items, nextPageToken } = await listOldestFirst(
        req,
        (await users.get(actorOf(context), req.userId)).keys,
        sortKeyOfKey,
      )
      return { keys: items.map(fromUserKey), nextPageToken }
    },

    async removeUserKey(req, context) {
      await credentials.removeKey(actorOf(context), req.userId, req.keyId)
      return {}
    },

    async createPersonalAccessToken(req, context) {
      const expiresAt = toDate(req.expirationDate, 'expiration_date')
      if (expiresAt === null) throw invalidField('expiration_date', 'is required')
      const { token, plainToken } = await credentials.createToken(actorOf(context), req.userId, expiresAt)
      return { personalAccessToken: fromPersonalAccessToken(token), token: plainToken }
    },

    async listPersonalAccessTokens(req, context) {
      const { personalAccessTokens } = await users.get(actorOf(context), req.userId)
      const { items, nextPageToken } = await listOldestFirst(req, personalAccessTokens, sortKeyOfToken)
      return { personalAccessTokens: items.map(fromPersonalAccessToken), nextPageToken }
    },

    async revokePersonalAccessToken(req, context) {
      await credentials.revokeToken(actorOf(context), req.userId, req.tokenId)
      return {}
    },
  }
}

function fromClientSecret(secret: ClientSecret): WireClientSecret {
  return create(ClientSecretSchema, {
    secretId: secret.secretId,
    creationDate: timestampFromDate(secret.createdAt),
    ...fromDate('expirationDate', secret.expiresAt),
    ...fromDate('deactivationDate', secret.deactivatedAt),
    ...fromDate('lastUseDate', secret.lastUsedAt),
  })
}

function fromUserKey(key: UserKey): WireUserKey {
  return create(UserKeySchema, {
    keyId: key.keyId,
    publicJwk: JSON.stringify(key.publicJwk),
    creationDate: timestampFromDate(key.createdAt),
    ...fromDate('expirationDate', key.expiresAt),
  })
}

/** A personal access token on the wire, without the token. */
function fromPersonalAccessToken(token: PersonalAccessToken): WirePersonalAccessToken {
  return create(PersonalAccessTokenSchema, {
    tokenId: token.tokenId,
    creationDate: timestampFromDate(token.createdAt),
    expirationDate: timestampFromDate(token.expiresAt),
  })
}
