/**
 * The credentials of service users: their calls of `iam.user.v2.ServiceUserService`, whose other half is `service-user-service.ts`,
 * `iam.user.v2.ClientCertificateService` and `iam.federation.v2.FederatedIdentityService`.
 *
 * A secret or token leaves the process only in the response to the call that creates it.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
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
import type { Actor } from '../../domain/identities/authority.ts'
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
import { done, listing } from '../authorization/methods.ts'
import { fromDate, nameOf, toDate } from '../messages/fields.ts'
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
  return {
    async generateClientSecret(req, context) {
      const expiresAt = toDate(req.expirationDate, 'expiration_date')
      const { user, credential, plain } = await credentials.generateSecret(actorOf(context), req.userId, expiresAt)
      return { secret: fromClientSecret(credential), clientId: formatClientId(user), clientSecret: plain }
    },
    listClientSecrets: listing('secrets', fromClientSecret, pageOf(credentials, 'client_secret')),
    async deactivateClientSecret(req, context) {
      const secret = await credentials.deactivateSecret(actorOf(context), req.userId, req.secretId)
      return { secret: fromClientSecret(secret) }
    },
    deleteClientSecret: done((actor, req) => credentials.remove(actor, req.userId, 'client_secret', req.secretId)),

    async addUserKey(req, context) {
      const expiresAt = toDate(req.expirationDate, 'expiration_date')
      const keys = await credentials.addKeys(actorOf(context), req.userId, { json: req.publicJwk, expiresAt })
      return { keys: keys.map(fromUserKey) }
    },
    listUserKeys: listing('keys', fromUserKey, pageOf(credentials, 'user_key')),
    removeUserKey: done((actor, req) => credentials.remove(actor, req.userId, 'user_key', req.keyId)),

    async createPersonalAccessToken(req, context) {
      const expiresAt = toDate(req.expirationDate, 'expiration_date')
      if (expiresAt === null) throw invalidField('expiration_date', 'is required')
      const { credential, plain } = await credentials.createToken(actorOf(context), req.userId, expiresAt)
      return { personalAccessToken: fromPersonalAccessToken(credential), token: plain }
    },
    listPersonalAccessTokens: listing(
      'personalAccessTokens',
      fromPersonalAccessToken,
      pageOf(credentials, 'personal_access_token'),
    ),
    revokePersonalAccessToken: done((actor, req) =>
      credentials.remove(actor, req.userId, 'personal_access_token', req.tokenId),
    ),
  }
}

export function clientCertificateService(credentials: Credentials): ServiceImpl<typeof ClientCertificateService> {
  return {
    async addClientCertificate(req, context) {
      const facts = { ...toMatch(req.match), expiresAt: toDate(req.expirationDate, 'expiration_date') }
      return { certificate: fromCertificate(await credentials.addCertificate(actorOf(context), req.userId, facts)) }
    },
    listClientCertificates: listing('certificates', fromCertificate, pageOf(credentials, 'client_certificate')),
    removeClientCertificate: done((actor, req) =>
      credentials.remove(actor, req.userId, 'client_certificate', req.certificateId),
    ),
  }
}

export function federatedIdentityService(credentials: Credentials): ServiceImpl<typeof FederatedIdentityService> {
  return {
    async addFederatedIdentity(req, context) {
      const { userId, issuerId, subject } = req
      const audience = req.audience === '' ? null : req.audience
      const facts = { issuerId, subject, audience, claims: req.claims.map(toRequiredClaim) }
      return { identity: fromIdentity(await credentials.addIdentity(actorOf(context), userId, facts)) }
    },
    listFederatedIdentities: listing('identities', fromIdentity, pageOf(credentials, 'federated_identity')),
    removeFederatedIdentity: done((actor, req) =>
      credentials.remove(actor, req.userId, 'federated_identity', req.identityId),
    ),
  }
}

interface ListRequest {
  readonly userId: string
  readonly pageSize: number
  readonly pageToken: string
}

/** Reads a page of the credentials of a kind. */
function pageOf<Kind extends CredentialKind>(credentials: Credentials, kind: Kind) {
  return async (actor: Actor, req: ListRequest) => {
    const found = await credentials.list(actor, req.userId, kind)
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
  const { case: name, value = '' } = wire?.match ?? {}
  return { match: nameOf(MATCHES, name), value }
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
