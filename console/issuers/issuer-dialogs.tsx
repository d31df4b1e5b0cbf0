/**
 * What can be done with a trusted issuer, each with what it does to its JWTs before it is done; and the form of one, with the request that it makes.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { IssuerKeysSchema, TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { trustedIssuers } from '../api/clients.ts'
import { goTo } from '../navigation/route.ts'
import { ConfirmDialog, DeleteButton } from '../parts/dialogs.tsx'
import { type Draft, DurationField, LongTextField, SelectField, TextField, useDraft } from '../parts/fields.tsx'
import { Notice } from '../parts/page.tsx'

export function TrustDialog() {
  const draft = useDraft(NEW_ISSUER)
  const { values } = draft
  return (
    <ConfirmDialog
      title="Trust an issuer"
      verb="Trust issuer"
      isIncomplete={hasPrivateKey(values)}
      change={async () => {
        const { trustedIssuer } = await trustedIssuers.createTrustedIssuer(requestOf(values))
        if (trustedIssuer !== undefined) goTo(['issuers', trustedIssuer.issuerId])
      }}
    >
      <p>Its JWTs give no right until a service user has a federated identity that fits them.</p>
      <IssuerForm draft={draft} isNew />
    </ConfirmDialog>
  )
}

interface OfIssuer {
  readonly issuer: TrustedIssuer
}

export function ChangeIssuerDialog({ issuer }: OfIssuer) {
  const draft = useDraft(draftOf(issuer))
  const { values, before } = draft
  const paths = changedPaths(before, values)
  const { keys, algorithms, maxLifetimeSeconds } = requestOf(values)
  const { issuerId } = issuer
  return (
    <ConfirmDialog
      title="Change the issuer"
      verb="Save"
      isIncomplete={paths.length === 0 || hasPrivateKey(values)}
      change={() =>
        trustedIssuers.updateTrustedIssuer({ issuerId, keys, algorithms, maxLifetimeSeconds, updateMask: { paths } })
      }
    >
      <IssuerForm draft={draft} isNew={false} />
      {isOtherSource(before, values) && (
        <Notice kind="warning">
          The keys before count no more from then on: JWTs that only they verify are refused.
        </Notice>
      )}
    </ConfirmDialog>
  )
}

export function DeleteIssuerButton({ issuer: { issuer, issuerId } }: OfIssuer) {
  return (
    <DeleteButton
      title="Delete the issuer?"
      place="issuers"
      remove={() => trustedIssuers.deleteTrustedIssuer({ issuerId })}
    >
      JWTs of <code>{issuer}</code> are refused from then on. The federated identities that name it are deleted with it,
      of all service users. Tokens that were issued stay valid until they expire.
    </DeleteButton>
  )
}

/** A new one as it is in the form. The times are those that the API gives to an issuer that names none. */
const NEW_ISSUER = {
  issuer: '',
  /** Where the keys come from, in the words of the API. */
  kind: 'discovery' as 'discovery' | 'jwksUrl' | 'spiffeBundleUrl' | 'jwks',
  jwksUrl: '',
  spiffeBundleUrl: '',
  jwks: '',
  caCertificates: '',
  /** In seconds, as the lifetime. */
  maxStaleness: 86_400,
  maxLifetime: 3600,
  /** Separated by spaces. */
  algorithms: '',
}

type IssuerDraft = typeof NEW_ISSUER

/** An issuer that is to be changed. */
function draftOf({ issuer, keys, algorithms, maxLifetimeSeconds }: TrustedIssuer): IssuerDraft {
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
function requestOf(draft: IssuerDraft) {
  const algorithms = draft.algorithms.split(/[\s,]+/).filter(Boolean)
  return { issuer: draft.issuer.trim(), keys: keysOf(draft), algorithms, maxLifetimeSeconds: draft.maxLifetime }
}

/** The fields of the API in which two drafts differ. */
function changedPaths(before: IssuerDraft, after: IssuerDraft): string[] {
  const [old, next] = [requestOf(before), requestOf(after)]
  const changes = {
    keys: JSON.stringify(old.keys) !== JSON.stringify(next.keys),
    algorithms: old.algorithms.join(' ') !== next.algorithms.join(' '),
    max_lifetime_seconds: old.maxLifetimeSeconds !== next.maxLifetimeSeconds,
  }
  return Object.entries(changes).flatMap(([path, isChanged]) => (isChanged ? [path] : []))
}

/** Whether what is fetched now would count no more until it has been fetched anew. */
function isOtherSource(before: IssuerDraft, after: IssuerDraft): boolean {
  const sourceOf = (draft: IssuerDraft) => JSON.stringify([keysOf(draft).source, draft.caCertificates.trim()])
  return sourceOf(before) !== sourceOf(after)
}

/** Whether a text holds a private key, which is not even sent to be refused. */
function hasPrivateKey({ kind, jwks, caCertificates }: IssuerDraft): boolean {
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
function IssuerForm({ draft: { values, field }, isNew }: IssuerFormProps) {
  const { kind } = values
  return (
    <>
      {isNew && (
        <TextField
          label="Issuer"
          hint="The exact iss of its JWTs, or spiffe:// and the trust domain. It never changes."
          required
          spellcheck={false}
          {...field('issuer')}
        />
      )}
      <SelectField label="Its keys come from" choices={SOURCES} {...field('kind')} />
      {(kind === 'jwksUrl' || kind === 'spiffeBundleUrl') && (
        <TextField
          label={kind === 'jwksUrl' ? 'Address of the JWKS' : 'Address of the bundle'}
          hint="https only."
          spellcheck={false}
          {...field(kind)}
        />
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
