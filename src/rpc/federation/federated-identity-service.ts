/**
 * `iam.federation.v2.FederatedIdentityService`.
 */
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  FederatedIdentitySchema,
  type FederatedIdentity as WireFederatedIdentity,
  type RequiredClaim as WireRequiredClaim,
} from '../../../gen/iam/federation/v2/federated_identity_pb.js'
import type { FederatedIdentityService } from '../../../gen/iam/federation/v2/federated_identity_service_pb.js'
import type { FederatedIdentities } from '../../app/federation/federated-identities.ts'
import type { FederatedIdentity, RequiredClaim } from '../../domain/federation/federated-identity.ts'
import { actorOf } from '../authorization/actor.ts'
import { listOldestFirst } from '../messages/paging.ts'
import { invalidField } from '../messages/violations.ts'

const sortKeyOf = ({ createdAt, identityId }: FederatedIdentity) => ({ date: createdAt, id: identityId })

/** Answers the calls of the service. */
export function federatedIdentityService(
  identities: FederatedIdentities,
): ServiceImpl<typeof FederatedIdentityService> {
  return {
    async addFederatedIdentity(req, context) {
      const { userId, issuerId, subject } = req
      const audience = req.audience === '' ? null : req.audience
      const facts = { issuerId, subject, audience, claims: req.claims.map(toRequiredClaim) }
      return { identity: fromFederatedIdentity(await identities.add(actorOf(context), userId, facts)) }
    },

    async listFederatedIdentities(req, context) {
      const { items, nextPageToken } = await listOldestFirst(
        req,
        await identities.list(actorOf(context), req.userId),
        sortKeyOf,
      )
      return { identities: items.map(fromFederatedIdentity), nextPageToken }
    },

    async removeFederatedIdentity(req, context) {
      await identities.remove(actorOf(context), req.userId, req.identityId)
      return {}
    },
  }
}

function fromFederatedIdentity(identity: FederatedIdentity): WireFederatedIdentity {
  const { identityId, issuerId, subject, audience, claims, createdAt } = identity
  return create(FederatedIdentitySchema, {
    identityId,
    issuerId,
    subject,
    audience: audience ?? '',
    claims: claims.map(({ pointer, value }) => ({ pointer, value })),
    creationDate: timestampFromDate(createdAt),
  })
}

function toRequiredClaim({ pointer, value }: WireRequiredClaim): RequiredClaim {
  // PostgreSQL cannot store it.
  if (value.includes('\0')) throw invalidField('claims', 'must not have a NUL character')
  return { pointer, value }
}
