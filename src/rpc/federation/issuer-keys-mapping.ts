/**
 * Keys of trusted issuers on the wire, in both directions.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  FetchedKeysSchema,
  type IssuerKeysSchema,
  type FetchedKeys as WireFetchedKeys,
  type IssuerKeys as WireIssuerKeys,
} from '../../../gen/iam/federation/v2/trusted_issuer_pb.js'
import type { KeyOrigin } from '../../app/federation/trusted-issuers.ts'
import {
  DEFAULT_MAX_STALENESS_SECONDS,
  expiryOf,
  type FetchedKeys,
  type IssuerKey,
} from '../../domain/federation/issuer-keys.ts'
import type { IssuerKeyChoice } from '../../domain/federation/trusted-issuer.ts'
import { invalidField } from '../messages/violations.ts'

/** What a request says about keys. @throws {ConnectError} `invalid_argument`. */
export function toKeyOrigin(keys: WireIssuerKeys | undefined): KeyOrigin {
  const { source, caCertificates = '', maxStalenessSeconds = DEFAULT_MAX_STALENESS_SECONDS } = keys ?? {}
  const settings = { caCertificates: caCertificates === '' ? null : caCertificates, maxStalenessSeconds }
  switch (source?.case) {
    case undefined:
      throw invalidField('keys', 'is required when update_mask has it')
    case 'jwks':
      if (settings.caCertificates !== null || keys?.maxStalenessSeconds !== undefined)
        throw invalidField(
          'keys',
          'must not have ca_certificates or max_staleness_seconds with jwks, which is not fetched',
        )
      return { kind: 'jwks', jwks: source.value }
    case 'discovery':
      return { kind: 'fetched', source: { ...settings, kind: 'discovery', url: null } }
    case 'jwksUrl':
      return { kind: 'fetched', source: { ...settings, kind: 'jwks_url', url: source.value } }
    case 'spiffeBundleUrl':
      return { kind: 'fetched', source: { ...settings, kind: 'spiffe_bundle_url', url: source.value } }
    default:
      return source satisfies never
  }
}

export function fromIssuerKeys(keys: IssuerKeyChoice): MessageInitShape<typeof IssuerKeysSchema> {
  if (keys.kind === 'given') return { source: { case: 'jwks', value: toJwks(keys.keys) } }
  const { kind, url, caCertificates, maxStalenessSeconds } = keys.source
  const settings = { caCertificates: caCertificates ?? '', maxStalenessSeconds }
  switch (kind) {
    case 'discovery':
      return { ...settings, source: { case: 'discovery', value: {} } }
    case 'jwks_url':
      return { ...settings, source: { case: 'jwksUrl', value: url ?? '' } }
    case 'spiffe_bundle_url':
      return { ...settings, source: { case: 'spiffeBundleUrl', value: url ?? '' } }
    default:
      return kind satisfies never
  }
}

export function fromFetchedKeys(fetched: FetchedKeys): WireFetchedKeys {
  const { keys, fetch } = fetched
  const expiresAt = expiryOf(fetched)
  return create(FetchedKeysSchema, {
    jwks: fetch.fetchedAt === null ? '' : toJwks(keys),
    ...(fetch.fetchedAt === null ? {} : { fetchDate: timestampFromDate(fetch.fetchedAt) }),
    ...(expiresAt === null ? {} : { expirationDate: timestampFromDate(expiresAt) }),
    nextFetchDate: timestampFromDate(fetch.nextFetchAt),
    ...(fetch.failure === null
      ? {}
      : { failure: fetch.failure.reason, failureDate: timestampFromDate(fetch.failure.at) }),
  })
}

function toJwks(keys: readonly IssuerKey[]): string {
  return JSON.stringify({ keys })
}
