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
  type FetchedKeys,
  type IssuerKey,
  type IssuerKeys,
  type KeySource,
} from '../../domain/federation/issuer-keys.ts'
import { after } from '../../domain/time.ts'
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

/** Where the keys of an issuer come from. */
export function fromIssuerKeys(keys: IssuerKeys): MessageInitShape<typeof IssuerKeysSchema> {
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

/** What this process has fetched. */
export function fromFetchedKeys(
  { keys, fetchedAt, nextFetchAt, failure }: FetchedKeys,
  { maxStalenessSeconds }: KeySource,
): WireFetchedKeys {
  return create(FetchedKeysSchema, {
    nextFetchDate: timestampFromDate(nextFetchAt),
    ...(fetchedAt === null
      ? {}
      : {
          jwks: toJwks(keys),
          fetchDate: timestampFromDate(fetchedAt),
          expirationDate: timestampFromDate(after(fetchedAt, maxStalenessSeconds)),
        }),
    ...(failure === null ? {} : { failure: failure.reason, failureDate: timestampFromDate(failure.at) }),
  })
}

function toJwks(keys: readonly IssuerKey[]): string {
  return JSON.stringify({ keys })
}
