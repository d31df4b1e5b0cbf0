/**
 * The credentials of service users: their calls of `iam.user.v2.ServiceUserService`, whose other half is `service-user-service.ts`,
 * `iam.user.v2.ClientCertificateService` and `iam.federation.v2.FederatedIdentityService`.
 *
 * A secret or token leaves the process only in the response to the call that creates it.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type {
  FederatedIdentitySchema,
  RequiredClaim as WireRequiredClaim,
} from '../../../gen/iam/federation/v2/federated_identity_pb.js'
import type { FederatedIdentityService } from '../../../gen/iam/federation/v2/federated_identity_service_pb.js'
import type { CertificateMatch, ClientCertificateSchema } from '../../../gen/iam/user/v2/client_certificate_pb.js'
import type { ClientCertificateService } from '../../../gen/iam/user/v2/client_certificate_service_pb.js'
import type {
  ClientSecretSchema,
  PersonalAccessTokenSchema,
  UserKeySchema,
} from '../../../gen/iam/user/v2/service_user_pb.js'
import type { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import type { Credentials } from '../../app/identities/credentials.ts'
import { formatClientId } from '../../domain/identities/client-id.ts'
import type {
  ClientCertificate,
  ClientSecret,
  CredentialKind,
  CredentialOf,
  FederatedIdentity,
  PersonalAccessToken,
  RequiredClaim,
  UserCredential,
  UserKey,
} from '../../domain/identities/credential.ts'
import { actorOf } from '../authorization/actor.ts'
import { fromDate, toDate } from '../messages/fields.ts'
import { listOldestFirst } from '../messages/paging.ts'
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

export function credentialCalls(credentials: Credentials): CredentialCalls {
  const list = listOf(credentials)
  return {
    async generateClientSecret(req, context) {
      const expiresAt = toDate(req.expirationDate, 'expiration_date')
      const { user, credential, plain } = await credentials.generateSecret(actorOf(context), req.userId, expiresAt)
      return { secret: fromClientSecret(credential), clientId: formatClientId(user), clientSecret: plain }
    },

    async listClientSecrets(req, context) {
      const { items, nextPageToken } = await list(req, context, 'client_secret')
      return { secrets: items.map(fromClientSecret), nextPageToken }
    },

    async deactivateClientSecret(req, context) {
      const secret = await credentials.deactivateSecret(actorOf(context), req.userId, req.secretId)
      return { secret: fromClientSecret(secret) }
    },

    async deleteClientSecret(req, context) {
      await credentials.remove(actorOf(context), req.userId, 'client_secret', req.secretId)
      return {}
    },

    async addUserKey(req, context) {
      const expiresAt = toDate(req.expirationDate, 'expiration_date')
      const keys = await credentials.addKeys(actorOf(context), req.userId, { json: req.publicJwk, expiresAt })
      return { keys: keys.map(fromUserKey) }
    },

    async listUserKeys(req, context) {
      const { items, nextPageToken } = await list(req, context, 'user_key')
      return { keys: items.map(fromUserKey), nextPageToken }
    },

    async removeUserKey(req, context) {
      await credentials.remove(actorOf(context), req.userId, 'user_key', req.keyId)
      return {}
    },

    async createPersonalAccessToken(req, context) {
      const expiresAt = toDate(req.expirationDate, 'expiration_date')
      if (expiresAt === null) throw invalidField('expiration_date', 'is required')
      const { credential, plain } = await credentials.createToken(actorOf(context), req.userId, expiresAt)
      return { personalAccessToken: fromPersonalAccessToken(credential), token: plain }
    },

    async listPersonalAccessTokens(req, context) {
      const { items, nextPageToken } = await list(req, context, 'personal_access_token')
      return { personalAccessTokens: items.map(fromPersonalAccessToken), nextPageToken }
    },

    async revokePersonalAccessToken(req, context) {
      await credentials.remove(actorOf(context), req.userId, 'personal_access_token', req.tokenId)
      return {}
    },
  }
}

export function clientCertificateService(credentials: Credentials): ServiceImpl<typeof ClientCertificateService> {
  const list = listOf(credentials)
  return {
    async addClientCertificate(req, context) {
      const facts = { ...toMatch(req.match), expiresAt: toDate(req.expirationDate, 'expiration_date') }
      return { certificate: fromCertificate(await credentials.addCertificate(actorOf(context), req.userId, facts)) }
    },

    async listClientCertificates(req, context) {
      const { items, nextPageToken } = await list(req, context, 'client_certificate')
      return { certificates: items.map(fromCertificate), nextPageToken }
    },

    async removeClientCertificate(req, context) {
      await credentials.remove(actorOf(context), req.userId, 'client_certificate', req.certificateId)
      return {}
    },
  }
}

export function federatedIdentityService(credentials: Credentials): ServiceImpl<typeof FederatedIdentityService> {
  const list = listOf(credentials)
  return {
    async addFederatedIdentity(req, context) {
      const { userId, issuerId, subject } = req
      const audience = req.audience === '' ? null : req.audience
      const facts = { issuerId, subject, audience, claims: req.claims.map(toRequiredClaim) }
      return { identity: fromIdentity(await credentials.addIdentity(actorOf(context), userId, facts)) }
    },

    async listFederatedIdentities(req, context) {
      const { items, nextPageToken } = await list(req, context, 'federated_identity')
      return { identities: items.map(fromIdentity), nextPageToken }
    },

    async removeFederatedIdentity(req, context) {
      await credentials.remove(actorOf(context), req.userId, 'federated_identity', req.identityId)
      return {}
    },
  }
}

function listOf(credentials: Credentials) {
  return async <Kind extends CredentialKind>(
    req: { readonly userId: string; readonly pageSize: number; readonly pageToken: string },
    context: HandlerContext,
    kind: Kind,
  ) => {
    const found = await credentials.list(actorOf(context), req.userId, kind)
    return listOldestFirst<CredentialOf<Kind>>(req, found, (each: UserCredential) => {
      return { date: each.createdAt, id: each.credentialId }
    })
  }
}

function fromClientSecret(secret: ClientSecret): MessageInitShape<typeof ClientSecretSchema> {
  const secretId = secret.credentialId
  const ends = { ...fromDate('deactivationDate', secret.deactivatedAt), ...fromDate('lastUseDate', secret.lastUsedAt) }
  return { secretId, ...datesOf(secret), ...ends }
}

function fromUserKey(key: UserKey): MessageInitShape<typeof UserKeySchema> {
  const publicJwk = JSON.stringify(key.publicJwk)
  return { keyId: key.credentialId, publicJwk, ...datesOf(key) }
}

/** A personal access token on the wire, without the token. */
function fromPersonalAccessToken(token: PersonalAccessToken): MessageInitShape<typeof PersonalAccessTokenSchema> {
  return { tokenId: token.credentialId, ...datesOf(token) }
}

function fromCertificate(certificate: ClientCertificate): MessageInitShape<typeof ClientCertificateSchema> {
  const certificateId = certificate.credentialId
  return { certificateId, match: fromMatch(certificate), ...datesOf(certificate) }
}

function fromIdentity(identity: FederatedIdentity): MessageInitShape<typeof FederatedIdentitySchema> {
  const { credentialId: identityId, issuerId, subject, claims, createdAt } = identity
  return {
    identityId,
    issuerId,
    subject,
    audience: identity.audience ?? '',
    claims: claims.map(({ pointer, value }) => ({ pointer, value })),
    creationDate: timestampFromDate(createdAt),
  }
}

function datesOf({ createdAt, expiresAt }: UserCredential) {
  return { creationDate: timestampFromDate(createdAt), ...fromDate('expirationDate', expiresAt) }
}

const MATCHES = {
  subject_dn: 'subjectDn',
  san_dns: 'sanDns',
  san_uri: 'sanUri',
  thumbprint: 'thumbprint',
} as const satisfies Record<ClientCertificate['match'], CertificateMatch['match']['case']>

export function toMatch(wire: CertificateMatch | undefined): Pick<ClientCertificate, 'match' | 'value'> {
  const { case: name, value } = wire?.match ?? {}
  const match = (Object.keys(MATCHES) as ClientCertificate['match'][]).find((each) => MATCHES[each] === name)
  if (match === undefined || value === undefined) throw new Error('the rules of the proto have not been checked')
  return { match, value }
}

/** What of a certificate must be equal, on the wire. */
export function fromMatch({ match, value }: Pick<ClientCertificate, 'match' | 'value'>) {
  return { match: { case: MATCHES[match], value } }
}

function toRequiredClaim({ pointer, value }: WireRequiredClaim): RequiredClaim {
  // PostgreSQL cannot store it.
  if (value.includes('\0')) throw invalidField('claims', 'must not have a NUL character')
  return { pointer, value }
}
