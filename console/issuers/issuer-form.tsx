/**
 * A trusted issuer as it is in a form, and the request that it makes.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { IssuerKeysSchema, TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { type Draft, DurationField, LongTextField, SelectField, TextField } from '../parts/fields.tsx'
import { Notice } from '../parts/page.tsx'

/** The form. */
export interface IssuerDraft {
  readonly issuer: string
  /** Where the keys come from, in the words of the API. */
  readonly kind: 'discovery' | 'jwksUrl' | 'spiffeBundleUrl' | 'jwks'
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

interface IssuerFormProps {
  readonly draft: Draft<IssuerDraft>
  /** Whether it is a new one, whose name can be chosen. */
  readonly isNew: boolean
}

const SOURCES = [
  ['discovery', 'OpenID discovery of the issuer'],
  ['jwksUrl', 'A JWKS at an address'],
  ['spiffeBundleUrl', 'The bundle of a SPIFFE trust domain'],
  ['jwks', 'A JWKS that is given here'],
] as const

/** The fields. */
export function IssuerForm({ draft: { values, field }, isNew }: IssuerFormProps) {
  const { kind } = values
  return (
    <>
      {isNew && (
        <TextField
          label="Issuer"
          hint="The exact iss of its JWTs, or spiffe:// and the trust domain. It never changes."
          spellcheck={false}
          {...field('issuer')}
        />
      )}
      <SelectField label="Its keys come from" choices={SOURCES} {...field('kind')} />
      {kind === 'jwksUrl' && (
        <TextField label="Address of the JWKS" hint="https only." spellcheck={false} {...field(kind)} />
      )}
      {kind === 'spiffeBundleUrl' && (
        <TextField label="Address of the bundle" hint="https only." spellcheck={false} {...field(kind)} />
      )}
      {kind === 'jwks' ? (
        <LongTextField
          label="Public keys"
          hint="A JWK Set with 1 to 10 public keys. They are fetched from nowhere: give new ones before they sign."
          rows={4}
          {...field(kind)}
        />
      ) : (
        <>
          <LongTextField
            label="Certificates of authorities"
            hint="PEM. Trusted for the fetch instead of the usual ones. Empty: the usual ones."
            rows={4}
            {...field('caCertificates')}
          />
          <DurationField
            label="Fetched keys are used for"
            hint="Without the issuer, from the last fetch on: 10 minutes to 30 days."
            {...field('maxStaleness')}
          />
        </>
      )}
      <DurationField
        label="Longest lifetime of its JWTs"
        hint="From iat to exp: a minute to a day."
        {...field('maxLifetime')}
      />
      <TextField
        label="Algorithms"
        hint="Separated by spaces, for example RS256 ES256. Empty: all that can be named."
        spellcheck={false}
        {...field('algorithms')}
      />
      {hasPrivateKey(values) && (
        <Notice kind="danger">
          This has a private key. It is not sent: paste the public part only, and replace that key.
        </Notice>
      )}
    </>
  )
}
