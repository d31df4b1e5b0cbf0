/**
 * From the domain to the messages of `iam.user.v2` about credentials. None of them can hold a secret.
 */
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  ClientSecretSchema,
  PersonalAccessTokenSchema,
  UserKeySchema,
  type ClientSecret as WireClientSecret,
  type PersonalAccessToken as WirePersonalAccessToken,
  type UserKey as WireUserKey,
} from '../../../gen/iam/user/v2/service_user_pb.js'
import type { ClientSecret, PersonalAccessToken, UserKey } from '../../domain/identities/credential.ts'
import { fromDate } from '../messages/fields.ts'

/** A client secret on the wire, without the secret. */
export function fromClientSecret(secret: ClientSecret): WireClientSecret {
  return create(ClientSecretSchema, {
    secretId: secret.secretId,
    creationDate: timestampFromDate(secret.createdAt),
    ...fromDate('expirationDate', secret.expiresAt),
    ...fromDate('deactivationDate', secret.deactivatedAt),
    ...fromDate('lastUseDate', secret.lastUsedAt),
  })
}

/** A public key on the wire. */
export function fromUserKey(key: UserKey): WireUserKey {
  return create(UserKeySchema, {
    keyId: key.keyId,
    publicJwk: JSON.stringify(key.publicJwk),
    creationDate: timestampFromDate(key.createdAt),
    ...fromDate('expirationDate', key.expiresAt),
  })
}

/** A personal access token on the wire, without the token. */
export function fromPersonalAccessToken(token: PersonalAccessToken): WirePersonalAccessToken {
  return create(PersonalAccessTokenSchema, {
    tokenId: token.tokenId,
    creationDate: timestampFromDate(token.createdAt),
    expirationDate: timestampFromDate(token.expiresAt),
  })
}
