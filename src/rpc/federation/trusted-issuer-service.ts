/**
 * `iam.federation.v2.TrustedIssuerService`.
 */
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  TrustedIssuerSchema,
  type TrustedIssuer as WireTrustedIssuer,
} from '../../../gen/iam/federation/v2/trusted_issuer_pb.js'
import type { TrustedIssuerService } from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import type { TrustedIssuers } from '../../app/federation/trusted-issuers.ts'
import type { FetchedKeys } from '../../domain/federation/issuer-keys.ts'
import type { TrustedIssuer } from '../../domain/federation/trusted-issuer.ts'
import { isAssertionAlgorithm } from '../../domain/keys/assertion-algorithm.ts'
import { actorOf } from '../authorization/actor.ts'
import { pathsOf } from '../messages/fields.ts'
import { byName, fromMemory, listPage } from '../messages/paging.ts'
import { fromFetchedKeys, fromIssuerKeys, toKeyOrigin } from './issuer-keys-mapping.ts'

const ISSUERS = byName(({ issuer }: TrustedIssuer) => issuer)

/** Answers the calls of the service. */
export function trustedIssuerService(issuers: TrustedIssuers): ServiceImpl<typeof TrustedIssuerService> {
  const toWire = (issuer: TrustedIssuer) => fromTrustedIssuer(issuer, issuers.fetchedKeys(issuer))
  const answer = (issuer: TrustedIssuer) => ({ trustedIssuer: toWire(issuer) })

  return {
    async createTrustedIssuer(req, context) {
      const { issuer, algorithms, maxLifetimeSeconds = 0, keys } = req
      const facts = { issuer, algorithms: algorithms.filter(isAssertionAlgorithm), maxLifetimeSeconds }
      return answer(await issuers.create(actorOf(context), { ...facts, keys: toKeyOrigin(keys) }))
    },

    async getTrustedIssuer(req) {
      return answer(await issuers.get(req.issuerId))
    },

    async listTrustedIssuers(req) {
      const read = fromMemory(await issuers.list(), ({ issuer }, cursor: string) => issuer > cursor)
      const { items, nextPageToken } = await listPage(req, ISSUERS, read)
      return { trustedIssuers: items.map(toWire), nextPageToken }
    },

    async updateTrustedIssuer(req, context) {
      const paths = pathsOf(req.updateMask, ['keys', 'algorithms', 'max_lifetime_seconds'])
      const { algorithms, maxLifetimeSeconds = 0 } = req
      const edit = {
        ...(paths.has('keys') ? { keys: toKeyOrigin(req.keys) } : {}),
        ...(paths.has('algorithms') ? { algorithms: algorithms.filter(isAssertionAlgorithm) } : {}),
        ...(paths.has('max_lifetime_seconds') ? { maxLifetimeSeconds } : {}),
      }
      return answer(await issuers.edit(actorOf(context), req.issuerId, edit))
    },

    async refreshTrustedIssuerKeys(req) {
      return answer(await issuers.refreshKeys(req.issuerId))
    },

    async deleteTrustedIssuer(req, context) {
      await issuers.delete(actorOf(context), req.issuerId)
      return {}
    },
  }
}

function fromTrustedIssuer(trusted: TrustedIssuer, fetched: FetchedKeys | undefined): WireTrustedIssuer {
  const { issuerId, issuer, keys, algorithms, maxLifetimeSeconds, createdAt } = trusted
  return create(TrustedIssuerSchema, {
    issuerId,
    issuer,
    keys: fromIssuerKeys(keys),
    algorithms: [...algorithms],
    maxLifetimeSeconds,
    creationDate: timestampFromDate(createdAt),
    ...(keys.kind === 'given' || fetched === undefined ? {} : { fetchedKeys: fromFetchedKeys(fetched, keys.source) }),
  })
}
