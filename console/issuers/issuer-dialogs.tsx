/**
 * What can be done with a trusted issuer, each with what it does to its JWTs before it is done.
 */
import { useState } from 'preact/hooks'
import type { TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { trustedIssuers } from '../api/clients.ts'
import { goTo } from '../navigation/route.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { Notice } from '../parts/notice.tsx'
import { changedPaths, draftOf, hasPrivateKey, isOtherSource, NEW_ISSUER, requestOf } from './issuer-draft.ts'
import { IssuerForm } from './issuer-form.tsx'

export function TrustDialog({ onClose }: { readonly onClose: () => void }) {
  const [draft, setDraft] = useState(NEW_ISSUER)
  return (
    <ConfirmDialog
      title="Trust an issuer"
      verb="Trust issuer"
      isIncomplete={draft.issuer.trim() === '' || hasPrivateKey(draft)}
      onClose={onClose}
      change={async () => {
        const { trustedIssuer } = await trustedIssuers.createTrustedIssuer(requestOf(draft))
        if (trustedIssuer !== undefined) goTo(['issuers', trustedIssuer.issuerId])
      }}
    >
      <p>Its JWTs give no right until a service user has a federated identity that fits them.</p>
      <IssuerForm draft={draft} isNew onChange={(values) => setDraft((before) => ({ ...before, ...values }))} />
    </ConfirmDialog>
  )
}

interface IssuerDialogProps {
  readonly issuer: TrustedIssuer
  readonly onClose: () => void
}

export function ChangeIssuerDialog({ issuer, onClose }: IssuerDialogProps) {
  const [before] = useState(() => draftOf(issuer))
  const [draft, setDraft] = useState(before)
  const paths = changedPaths(before, draft)
  const { keys, algorithms, maxLifetimeSeconds } = requestOf(draft)
  const { issuerId } = issuer
  return (
    <ConfirmDialog
      title="Change the issuer"
      verb="Save"
      isIncomplete={paths.length === 0 || hasPrivateKey(draft)}
      onClose={onClose}
      change={() =>
        trustedIssuers.updateTrustedIssuer({ issuerId, keys, algorithms, maxLifetimeSeconds, updateMask: { paths } })
      }
    >
      <IssuerForm
        draft={draft}
        isNew={false}
        onChange={(values) => setDraft((current) => ({ ...current, ...values }))}
      />
      {isOtherSource(before, draft) && (
        <Notice kind="warning">
          <p>The keys before count no more from then on: JWTs that only they verify are refused.</p>
        </Notice>
      )}
    </ConfirmDialog>
  )
}

export function DeleteIssuerDialog({ issuer: { issuer, issuerId }, onClose }: IssuerDialogProps) {
  return (
    <ConfirmDialog
      title="Delete the issuer?"
      verb="Delete for good"
      isDangerous
      onClose={onClose}
      change={async () => {
        await trustedIssuers.deleteTrustedIssuer({ issuerId })
        goTo(['issuers'])
      }}
    >
      <p>
        JWTs of <code>{issuer}</code> are refused from then on. The federated identities that name it are deleted with
        it, of all service users. Tokens that were issued stay valid until they expire.
      </p>
    </ConfirmDialog>
  )
}
