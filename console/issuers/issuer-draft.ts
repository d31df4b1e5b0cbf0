/**
 * A trusted issuer as it is in a form, and the request that it makes.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { IssuerKeysSchema, TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'

/** Where the keys come from, in the words of the API. */
export type SourceKind = 'discovery' | 'jwksUrl' | 'spiffeBundleUrl' | 'jwks'

/** The form. */
export interface IssuerDraft {
  readonly issuer: string
  readonly kind: SourceKind
  readonly jwksUrl: string
  readonly spiffeBundleUrl: string
  readonly jwks: string
  readonly caCertificates: string
  /** In seconds, as the lifetime. */
  readonly maxStaleness: number
  readonly maxLifetime: number
  /** Separated by spaces. */
  readonly algorithms: string
}

/** A new one. The times are those that the API gives to an issuer that names none. */
export const NEW_ISSUER: IssuerDraft = {
  issuer: '',
  kind: 'discovery',
  jwksUrl: '',
  spiffeBundleUrl: '',
  jwks: '',
  caCertificates: '',
  maxStaleness: 86_400,
  maxLifetime: 3600,
  algorithms: '',
}

/** An issuer that is to be changed. */
export function draftOf({ issuer, keys, algorithms, maxLifetimeSeconds }: TrustedIssuer): IssuerDraft {
  const source = keys?.source
  return {
    ...NEW_ISSUER,
    issuer,
    ...(source?.case === undefined ? {} : { kind: source.case }),
    ...(typeof source?.value === 'string' ? { [source.case]: source.value } : {}),
    caCertificates: keys?.caCertificates ?? '',
    maxStaleness: keys?.maxStalenessSeconds ?? NEW_ISSUER.maxStaleness,
    maxLifetime: maxLifetimeSeconds,
    algorithms: algorithms.join(' '),
  }
}

/** What the API takes for it. */
export function requestOf(draft: IssuerDraft) {
  const algorithms = draft.algorithms.split(/[\s,]+/).filter(Boolean)
  return { issuer: draft.issuer.trim(), keys: keysOf(draft), algorithms, maxLifetimeSeconds: draft.maxLifetime }
}

/** The fields of the API in which two drafts differ. */
export function changedPaths(before: IssuerDraft, after: IssuerDraft): string[] {
  const [old, next] = [requestOf(before), requestOf(after)]
  const changes = {
    keys: JSON.stringify(old.keys) !== JSON.stringify(next.keys),
    algorithms: old.algorithms.join(' ') !== next.algorithms.join(' '),
    max_lifetime_seconds: old.maxLifetimeSeconds !== next.maxLifetimeSeconds,
  }
  return Object.entries(changes).flatMap(([path, isChanged]) => (isChanged ? [path] : []))
}

/** Whether what is fetched now would count no more until it has been fetched anew. */
export function isOtherSource(before: IssuerDraft, after: IssuerDraft): boolean {
  const sourceOf = (draft: IssuerDraft) => JSON.stringify([keysOf(draft).source, draft.caCertificates.trim()])
  return sourceOf(before) !== sourceOf(after)
}

/** Whether a text holds a private key, which is not even sent to be refused. */
export function hasPrivateKey({ kind, jwks, caCertificates }: IssuerDraft): boolean {
  const pasted = kind === 'jwks' ? jwks : caCertificates
  return /PRIVATE KEY-----|"(d|k)"\s*:/.test(pasted)
}

function keysOf(draft: IssuerDraft): MessageInitShape<typeof IssuerKeysSchema> {
  if (draft.kind === 'jwks') return { source: { case: 'jwks', value: draft.jwks } }
  const fetching = { caCertificates: draft.caCertificates.trim(), maxStalenessSeconds: draft.maxStaleness }
  if (draft.kind === 'discovery') return { source: { case: 'discovery', value: {} }, ...fetching }
  return { source: { case: draft.kind, value: draft[draft.kind].trim() }, ...fetching }
}
