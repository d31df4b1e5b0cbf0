/**
 * The fields of a trusted issuer.
 */
import { DurationField } from '../parts/duration-field.tsx'
import { Field } from '../parts/field.tsx'
import { Notice } from '../parts/notice.tsx'
import { hasPrivateKey, type IssuerDraft, type SourceKind } from './issuer-draft.ts'

interface IssuerFormProps {
  readonly draft: IssuerDraft
  readonly onChange: (values: Partial<IssuerDraft>) => void
  /** Whether it is a new one, whose name can be chosen. */
  readonly isNew: boolean
}

const SOURCES: Readonly<Record<SourceKind, string>> = {
  discovery: 'OpenID discovery of the issuer',
  jwksUrl: 'A JWKS at an address',
  spiffeBundleUrl: 'The bundle of a SPIFFE trust domain',
  jwks: 'A JWKS that is given here',
}

export function IssuerForm({ draft, onChange, isNew }: IssuerFormProps) {
  const { kind } = draft
  const isFetched = kind !== 'jwks'
  return (
    <>
      {isNew && (
        <TextField
          label="Issuer"
          hint="The exact iss of its JWTs, or spiffe:// and the trust domain. It never changes."
          name="issuer"
          {...{ draft, onChange }}
        />
      )}
      <Field label="Its keys come from">
        {(id) => (
          <select
            id={id}
            value={kind}
            onChange={({ currentTarget }) => onChange({ kind: currentTarget.value as SourceKind })}
          >
            {Object.entries(SOURCES).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      {kind === 'jwksUrl' && (
        <TextField label="Address of the JWKS" hint="https only." name="jwksUrl" {...{ draft, onChange }} />
      )}
      {kind === 'spiffeBundleUrl' && (
        <TextField label="Address of the bundle" hint="https only." name="spiffeBundleUrl" {...{ draft, onChange }} />
      )}
      {kind === 'jwks' && (
        <LongField
          label="Public keys"
          hint="A JWK Set with 1 to 10 public keys. They are fetched from nowhere: give new ones before they sign."
          name="jwks"
          {...{ draft, onChange }}
        />
      )}
      {isFetched && (
        <>
          <LongField
            label="Certificates of authorities"
            hint="PEM. Trusted for the fetch instead of the usual ones. Empty: the usual ones."
            name="caCertificates"
            {...{ draft, onChange }}
          />
          <DurationField
            label="Fetched keys are used for"
            hint="Without the issuer, from the last fetch on: 10 minutes to 30 days."
            seconds={draft.maxStaleness}
            onChange={(maxStaleness) => onChange({ maxStaleness })}
          />
        </>
      )}
      <DurationField
        label="Longest lifetime of its JWTs"
        hint="From iat to exp: a minute to a day."
        seconds={draft.maxLifetime}
        onChange={(maxLifetime) => onChange({ maxLifetime })}
      />
      <TextField
        label="Algorithms"
        hint="Separated by spaces, for example RS256 ES256. Empty: all that can be named."
        name="algorithms"
        {...{ draft, onChange }}
      />
      {hasPrivateKey(draft) && (
        <Notice kind="danger">
          <p>This has a private key. It is not sent: paste the public part only, and replace that key.</p>
        </Notice>
      )}
    </>
  )
}

interface TextFieldProps extends Omit<IssuerFormProps, 'isNew'> {
  readonly label: string
  readonly hint: string
  readonly name: 'issuer' | 'jwksUrl' | 'spiffeBundleUrl' | 'jwks' | 'caCertificates' | 'algorithms'
}

function TextField({ label, hint, name, draft, onChange }: TextFieldProps) {
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <input
          id={id}
          type="text"
          autocomplete="off"
          spellcheck={false}
          value={draft[name]}
          onInput={({ currentTarget }) => onChange({ [name]: currentTarget.value })}
        />
      )}
    </Field>
  )
}

function LongField({ label, hint, name, draft, onChange }: TextFieldProps) {
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <textarea
          id={id}
          rows={4}
          spellcheck={false}
          autocomplete="off"
          value={draft[name]}
          onInput={({ currentTarget }) => onChange({ [name]: currentTarget.value })}
        />
      )}
    </Field>
  )
}
