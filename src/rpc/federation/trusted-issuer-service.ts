/** `iam.federation.v2.TrustedIssuerService`. */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type {
  FetchedKeysSchema,
  IssuerKeysSchema,
  TrustedIssuerSchema,
  IssuerKeys as WireIssuerKeys,
} from '../../../gen/iam/federation/v2/trusted_issuer_pb.js'
import type { TrustedIssuerService } from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import type { KeyOrigin, TrustedIssuers } from '../../app/federation/trusted-issuers.ts'
import type { TrustedIssuer } from '../../domain/federation/trusted-issuer.ts'
import {
  DEFAULT_MAX_STALENESS_SECONDS,
  type FetchedKeys,
  type IssuerKey,
  type IssuerKeys,
  type KeySource,
} from '../../domain/federation/trusted-issuer.ts'
import { isAssertionAlgorithm } from '../../domain/keys/assertion-algorithm.ts'
import { after } from '../../domain/time.ts'
import { answering, done, listing } from '../authorization/methods.ts'
import { fromDate, maskedBy, nameOf } from '../messages/fields.ts'
import { listFromMemory } from '../messages/paging.ts'
import { invalidField } from '../messages/violations.ts'

export function trustedIssuerService(issuers: TrustedIssuers): ServiceImpl<typeof TrustedIssuerService> {
  const toWire = (issuer: TrustedIssuer) => fromTrustedIssuer(issuer, issuers.fetchedKeys(issuer))
  const answer = answering((issuer: TrustedIssuer) => ({ trustedIssuer: toWire(issuer) }))
  return {
    createTrustedIssuer: answer(async (actor, req) => {
      const { issuer, algorithms, maxLifetimeSeconds = 0, keys } = req
      const facts = { issuer, algorithms: algorithms.filter(isAssertionAlgorithm), maxLifetimeSeconds }
      return issuers.create(actor, { ...facts, keys: toKeyOrigin(keys) })
    }),
    getTrustedIssuer: answer((_actor, { issuerId }) => issuers.get(issuerId)),
    listTrustedIssuers: listing('trustedIssuers', toWire, async (_actor, req) =>
      listFromMemory(req, await issuers.list(), ({ issuer }) => issuer),
    ),
    updateTrustedIssuer: answer(async (actor, req) => {
      const { keys, algorithms, maxLifetimeSeconds = 0 } = req
      const edit = maskedBy<Parameters<TrustedIssuers['edit']>[2]>(req.updateMask, {
        keys: () => ({ keys: toKeyOrigin(keys) }),
        algorithms: () => ({ algorithms: algorithms.filter(isAssertionAlgorithm) }),
        max_lifetime_seconds: () => ({ maxLifetimeSeconds }),
      })
      return issuers.edit(actor, req.issuerId, edit)
    }),
    refreshTrustedIssuerKeys: answer((_actor, { issuerId }) => issuers.refreshKeys(issuerId)),
    deleteTrustedIssuer: done((actor, { issuerId }) => issuers.delete(actor, issuerId)),
  }
}

function fromTrustedIssuer(
  trusted: TrustedIssuer,
  fetched: FetchedKeys | undefined,
): MessageInitShape<typeof TrustedIssuerSchema> {
  const { issuerId, issuer, keys, algorithms, maxLifetimeSeconds, createdAt } = trusted
  return {
    issuerId,
    issuer,
    keys: fromIssuerKeys(keys),
    algorithms: [...algorithms],
    maxLifetimeSeconds,
    creationDate: timestampFromDate(createdAt),
    ...(keys.kind === 'given' || fetched === undefined ? {} : { fetchedKeys: fromFetchedKeys(fetched, keys.source) }),
  }
}

/** What a request says about keys. @throws {ConnectError} `invalid_argument`. */
export function toKeyOrigin(keys: WireIssuerKeys | undefined): KeyOrigin {
  const { source, caCertificates = '', maxStalenessSeconds = DEFAULT_MAX_STALENESS_SECONDS } = keys ?? {}
  const settings = { caCertificates: caCertificates === '' ? null : caCertificates, maxStalenessSeconds }
  if (source?.case === undefined) throw invalidField('keys', 'is required when update_mask has it')
  if (source.case === 'jwks') {
    if (settings.caCertificates !== null || keys?.maxStalenessSeconds !== undefined)
      throw invalidField(
        'keys',
        'must not have ca_certificates or max_staleness_seconds with jwks, which is not fetched',
      )
    return { kind: 'jwks', jwks: source.value }
  }
  const url = source.case === 'discovery' ? null : source.value
  return { kind: 'fetched', source: { ...settings, kind: nameOf(SOURCES, source.case), url } }
}

const SOURCES = {
  discovery: 'discovery',
  jwks_url: 'jwksUrl',
  spiffe_bundle_url: 'spiffeBundleUrl',
} as const satisfies Record<KeySource['kind'], WireIssuerKeys['source']['case']>

export function fromIssuerKeys(keys: IssuerKeys): MessageInitShape<typeof IssuerKeysSchema> {
  if (keys.kind === 'given') return { source: { case: 'jwks', value: toJwks(keys.keys) } }
  const { kind, url, caCertificates, maxStalenessSeconds } = keys.source
  const source = { case: SOURCES[kind], value: url ?? {} } as WireIssuerKeys['source']
  return { caCertificates: caCertificates ?? '', maxStalenessSeconds, source }
}

function fromFetchedKeys(
  { keys, fetchedAt, nextFetchAt, failure }: FetchedKeys,
  { maxStalenessSeconds }: KeySource,
): MessageInitShape<typeof FetchedKeysSchema> {
  return {
    nextFetchDate: timestampFromDate(nextFetchAt),
    jwks: fetchedAt === null ? '' : toJwks(keys),
    ...fromDate('fetchDate', fetchedAt),
    ...fromDate('expirationDate', fetchedAt && after(fetchedAt, maxStalenessSeconds)),
    failure: failure?.reason ?? '',
    ...fromDate('failureDate', failure?.at ?? null),
  }
}

function toJwks(keys: readonly IssuerKey[]): string {
  return JSON.stringify({ keys })
}
