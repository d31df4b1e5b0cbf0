/**
 * The client certificates with which a user authenticates (mutual TLS).
 */
import { useState } from 'preact/hooks'
import type { CertificateMatch, ClientCertificate } from '../../gen/iam/user/v2/client_certificate_pb.js'
import type { ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { clientCertificates } from '../api/clients.ts'
import { millisecondsOf } from '../format/moment.ts'
import { CardSection } from '../parts/card-section.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { actionColumn, type Column, DataTable } from '../parts/data-table.tsx'
import { ExpiryField, expirationIn } from '../parts/expiry-field.tsx'
import { SelectField, TextField } from '../parts/field.tsx'
import { When } from '../parts/when.tsx'
import { mayWithUser } from '../session/rights.ts'

/** What of a certificate can be compared. */
const KINDS = [
  {
    name: 'sanDns',
    label: 'DNS name',
    hint: 'One of the DNS names of the certificate, for example checkout.example.com.',
  },
  { name: 'sanUri', label: 'URI', hint: 'One of its URIs, for example spiffe://example.org/ns/shop/sa/checkout.' },
  { name: 'subjectDn', label: 'Subject', hint: 'All of its subject, for example CN=checkout,O=Shop,C=DE.' },
  { name: 'thumbprint', label: 'SHA-256 thumbprint', hint: 'In base64url. Such a certificate needs no authority.' },
] as const

type Kind = (typeof KINDS)[number]['name']

interface CertificatesSectionProps {
  readonly user: ServiceUser
  readonly certificates: readonly ClientCertificate[]
}

export function CertificatesSection({ user, certificates }: CertificatesSectionProps) {
  const [open, setOpen] = useState<'add' | ClientCertificate>()
  const { userId } = user
  const close = () => setOpen(undefined)
  const mayChange = mayWithUser('iam.user.credential.write', user)
  const columns: Column<ClientCertificate>[] = [
    { name: 'Certificate', kind: 'main', cell: ({ match }) => <code>{textOf(match)}</code> },
    { name: 'Compared', cell: ({ match }) => labelOf(match) },
    { name: 'Created', cell: ({ creationDate }) => <When at={millisecondsOf(creationDate)} /> },
    { name: 'Ends', cell: ({ expirationDate }) => <When at={millisecondsOf(expirationDate)} otherwise="never" /> },
    actionColumn<ClientCertificate>('Remove', {
      isShown: mayChange,
      labelOf: (certificate) => `Remove certificate ${textOf(certificate.match)}`,
      onClick: (certificate) => setOpen(certificate),
    }),
  ]
  return (
    <CardSection
      id="certificates"
      title="Client certificates"
      action={mayChange && { verb: 'Add certificate', onClick: () => setOpen('add') }}
    >
      <DataTable
        caption="Client certificates"
        columns={columns}
        rows={certificates}
        keyOf={({ certificateId }) => certificateId}
        empty="None. With one, the user requests tokens without a secret, where the server takes client certificates."
      />
      {open === 'add' && <AddDialog userId={userId} onClose={close} />}
      {open !== undefined && open !== 'add' && (
        <ConfirmDialog
          title="Remove the client certificate?"
          verb="Remove"
          isDangerous
          onClose={close}
          change={() => clientCertificates.removeClientCertificate({ userId, certificateId: open.certificateId })}
        >
          <p>
            The user no longer authenticates with <code>{textOf(open.match)}</code>. Tokens that are bound to a
            certificate stay valid until they expire.
          </p>
        </ConfirmDialog>
      )}
    </CardSection>
  )
}

function textOf(match: CertificateMatch | undefined): string {
  return match?.match.value ?? ''
}

function labelOf(match: CertificateMatch | undefined): string {
  return KINDS.find(({ name }) => name === match?.match.case)?.label ?? ''
}

function AddDialog({ userId, onClose }: { readonly userId: string; readonly onClose: () => void }) {
  const [kind, setKind] = useState<Kind>('sanDns')
  const [value, setValue] = useState('')
  const [days, setDays] = useState(0)
  const { hint } = KINDS.find(({ name }) => name === kind) ?? KINDS[0]
  return (
    <ConfirmDialog
      title="Add a client certificate"
      verb="Add certificate"
      isIncomplete={value === ''}
      onClose={onClose}
      change={() =>
        clientCertificates.addClientCertificate({
          userId,
          match: { match: { case: kind, value } },
          ...expirationIn(days),
        })
      }
    >
      <SelectField
        label="What is compared"
        value={kind}
        choices={KINDS.map(({ name, label }) => [name, label] as const)}
        onChange={setKind}
      />
      <TextField label="Value" hint={hint} required spellcheck={false} value={value} onChange={setValue} />
      <ExpiryField days={days} canBeNever onChange={setDays} />
    </ConfirmDialog>
  )
}
