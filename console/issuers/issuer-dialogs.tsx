/**
 * What can be done with a trusted issuer, each with what it does to its JWTs before it is done.
 */
import type { TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { trustedIssuers } from '../api/clients.ts'
import { goTo } from '../navigation/route.ts'
import { ConfirmButton, ConfirmDialog } from '../parts/dialogs.tsx'
import { useDraft } from '../parts/fields.tsx'
import { Notice } from '../parts/page.tsx'
import {
  changedPaths,
  draftOf,
  hasPrivateKey,
  IssuerForm,
  isOtherSource,
  NEW_ISSUER,
  requestOf,
} from './issuer-form.tsx'

export function TrustDialog() {
  const draft = useDraft(NEW_ISSUER)
  const { values } = draft
  return (
    <ConfirmDialog
      title="Trust an issuer"
      verb="Trust issuer"
      isIncomplete={values.issuer.trim() === '' || hasPrivateKey(values)}
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
    <ConfirmButton
      label="Delete"
      title="Delete the issuer?"
      verb="Delete for good"
      isDangerous
      change={async () => {
        await trustedIssuers.deleteTrustedIssuer({ issuerId })
        goTo(['issuers'])
      }}
    >
      <p>
        JWTs of <code>{issuer}</code> are refused from then on. The federated identities that name it are deleted with
        it, of all service users. Tokens that were issued stay valid until they expire.
      </p>
    </ConfirmButton>
  )
}
