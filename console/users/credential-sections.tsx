/**
 * What a user proves with who it is, besides client secrets and federated identities: public keys (`private_key_jwt`), client certificates
 * (mutual TLS), and personal access tokens.
 */
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { CertificateMatch, ClientCertificate } from '../../gen/iam/user/v2/client_certificate_pb.js'
import type { PersonalAccessToken, ServiceUser, UserKey } from '../../gen/iam/user/v2/service_user_pb.js'
import { clientCertificates, serviceUsers } from '../api/clients.ts'
import { formatDistance, millisecondsOf, shortened } from '../format/text.ts'
import { now } from '../live/instance.ts'
import { type Column, DataTable, type DataTableProps, type Removal, removal } from '../parts/data-table.tsx'
import { ConfirmDialog, DialogButton, ShownOnce } from '../parts/dialogs.tsx'
import { ExpiryField, expirationIn, LongTextField, SelectField, TextField, useDraft } from '../parts/fields.tsx'
import { Badge, CardSection, type State } from '../parts/page.tsx'
import { Id, When } from '../parts/values.tsx'
import { mayWithUser } from '../session/session.ts'

interface Dated {
  readonly creationDate?: Timestamp | undefined
  readonly expirationDate?: Timestamp | undefined
}

/** When a credential was made and when it ends. */
const DATES: readonly Column<Dated>[] = [
  { name: 'Created', cell: ({ creationDate }) => <When at={creationDate} /> },
  { name: 'Ends', cell: ({ expirationDate }) => <When at={expirationDate} otherwise="never" /> },
]

interface OfUserId {
  readonly userId: string
}

/** Credentials of a user, of one kind. */
interface CredentialsOf<Row> {
  readonly user: ServiceUser
  readonly rows: readonly Row[]
}

interface CredentialSectionProps<Row> extends Omit<DataTableProps<Row>, 'caption' | 'actionsOf'> {
  readonly user: ServiceUser
  readonly title: string
  readonly addVerb: string
  /** The dialog that adds one. */
  readonly addDialog: ComponentChildren
  /** Whether there is what an added one needs. */
  readonly canAdd?: boolean
  removalOf(row: Row): Removal
}

/** Credentials of one kind, with what adds one and what removes one. */
export function CredentialSection<Row>(props: CredentialSectionProps<Row>) {
  const { user, title, addVerb, addDialog, canAdd = true, removalOf, ...table } = props
  const mayChange = mayWithUser('iam.user.credential.write', user)
  return (
    <CardSection title={title} actions={mayChange && canAdd && <DialogButton text={addVerb} dialog={addDialog} />}>
      <DataTable caption={title} actionsOf={mayChange && ((row: Row) => [removal(removalOf(row))])} {...table} />
    </CardSection>
  )
}

const KEY_COLUMNS: readonly Column<UserKey>[] = [
  { name: 'Key', kind: 'main', cell: ({ keyId }) => <Id id={keyId} what="the id of the key" /> },
  { name: 'Kind', cell: kindOf },
  ...DATES,
]

export function UserKeysSection(props: CredentialsOf<UserKey>) {
  const { userId } = props.user
  return (
    <CredentialSection
      {...props}
      title="Public keys"
      addVerb="Add public key"
      addDialog={<AddKeyDialog userId={userId} />}
      columns={KEY_COLUMNS}
      keyOf={({ keyId }) => keyId}
      empty="No public keys. With one, the user proves who it is with assertions that its private key signs."
      removalOf={({ keyId }) => ({
        verb: 'Remove',
        label: `Remove key ${shortened(keyId)}`,
        consequence: 'Assertions that its private key signs are refused from then on.',
        remove: () => serviceUsers.removeUserKey({ userId, keyId }),
      })}
    />
  )
}

function kindOf({ publicJwk }: UserKey): string {
  const { kty, crv } = JSON.parse(publicJwk) as { kty: string; crv?: string }
  return crv ?? kty
}

function AddKeyDialog({ userId }: OfUserId) {
  const { values, field } = useDraft({ publicJwk: '', days: 365 })
  const { publicJwk, days } = values
  return (
    <ConfirmDialog
      title="Add a public key"
      verb="Add key"
      change={() => serviceUsers.addUserKey({ userId, publicJwk, ...expirationIn(days) })}
    >
      <LongTextField
        label="Public key"
        required
        hint="A JWK, or a JWK Set. A private key is refused."
        rows={6}
        {...field('publicJwk')}
      />
      <ExpiryField {...field('days')} />
    </ConfirmDialog>
  )
}

/** What of a certificate can be compared. */
const MATCHES = [
  {
    name: 'sanDns',
    label: 'DNS name',
    hint: 'One of the DNS names of the certificate, for example checkout.example.com.',
  },
  { name: 'sanUri', label: 'URI', hint: 'One of its URIs, for example spiffe://example.org/ns/shop/sa/checkout.' },
  { name: 'subjectDn', label: 'Subject', hint: 'All of its subject, for example CN=checkout,O=Shop,C=DE.' },
  { name: 'thumbprint', label: 'SHA-256 thumbprint', hint: 'In base64url. Such a certificate needs no authority.' },
] as const

type MatchName = (typeof MATCHES)[number]['name']

const CERTIFICATE_COLUMNS: readonly Column<ClientCertificate>[] = [
  { name: 'Certificate', kind: 'main', cell: ({ match }) => <code>{textOf(match)}</code> },
  { name: 'Compared', cell: ({ match }) => MATCHES.find(({ name }) => name === match?.match.case)?.label ?? '' },
  ...DATES,
]

export function CertificatesSection(props: CredentialsOf<ClientCertificate>) {
  const { userId } = props.user
  return (
    <CredentialSection
      {...props}
      title="Client certificates"
      addVerb="Add certificate"
      addDialog={<AddCertificateDialog userId={userId} />}
      columns={CERTIFICATE_COLUMNS}
      keyOf={({ certificateId }) => certificateId}
      empty="None. With one, the user requests tokens without a secret, where the server takes client certificates."
      removalOf={({ match, certificateId }) => ({
        verb: 'Remove',
        label: `Remove certificate ${textOf(match)}`,
        title: 'Remove the client certificate?',
        consequence: (
          <>
            The user no longer authenticates with <code>{textOf(match)}</code>. Tokens that are bound to a certificate
            stay valid until they expire.
          </>
        ),
        remove: () => clientCertificates.removeClientCertificate({ userId, certificateId }),
      })}
    />
  )
}

function textOf(match: CertificateMatch | undefined): string {
  return match?.match.value ?? ''
}

function AddCertificateDialog({ userId }: OfUserId) {
  const { values, field } = useDraft<{ name: MatchName; value: string; days: number }>({
    name: 'sanDns',
    value: '',
    days: 0,
  })
  const { name, value, days } = values
  const match = { match: { case: name, value } }
  return (
    <ConfirmDialog
      title="Add a client certificate"
      verb="Add certificate"
      change={() => clientCertificates.addClientCertificate({ userId, match, ...expirationIn(days) })}
    >
      <SelectField
        label="What is compared"
        choices={MATCHES.map((each) => [each.name, each.label] as const)}
        {...field('name')}
      />
      <TextField
        label="Value"
        hint={MATCHES.find((each) => each.name === name)?.hint}
        required
        spellcheck={false}
        {...field('value')}
      />
      <ExpiryField {...field('days')} />
    </ConfirmDialog>
  )
}

const TOKEN_COLUMNS: readonly Column<PersonalAccessToken>[] = [
  { name: 'Token', kind: 'main', cell: ({ tokenId }) => <Id id={tokenId} what="the id of the token" /> },
  { name: 'State', cell: (token) => <Badge {...stateOf(token, now.value)} /> },
  ...DATES,
]

export function PersonalTokensSection(props: CredentialsOf<PersonalAccessToken>) {
  const { userId } = props.user
  return (
    <CredentialSection
      {...props}
      title="Personal access tokens"
      addVerb="Create token"
      addDialog={<CreateTokenDialog userId={userId} />}
      columns={TOKEN_COLUMNS}
      keyOf={({ tokenId }) => tokenId}
      empty="No personal access tokens. They work for Keyturn's own API only."
      removalOf={({ tokenId }) => ({
        verb: 'Revoke',
        label: `Revoke token ${shortened(tokenId)}`,
        consequence: 'Calls with it are refused at once, on every replica.',
        remove: () => serviceUsers.revokePersonalAccessToken({ userId, tokenId }),
      })}
    />
  )
}

const SOON = 14 * 86_400_000

function stateOf({ expirationDate }: PersonalAccessToken, at: number): State {
  const ends = millisecondsOf(expirationDate) ?? at
  if (ends <= at) return { text: 'expired', tone: '' }
  if (ends - at < SOON) return { text: `ends ${formatDistance(ends, at)}`, tone: 'warning' }
  return { text: 'live', tone: 'success' }
}

function CreateTokenDialog({ userId }: OfUserId) {
  const { values, field } = useDraft({ days: 90 })
  const [created, setCreated] = useState<string>()
  if (created !== undefined) return <ShownOnce title="The new token" secret={created} what="personal access token" />
  return (
    <ConfirmDialog
      title="Create a personal access token"
      verb="Create token"
      change={() => serviceUsers.createPersonalAccessToken({ userId, ...expirationIn(values.days) })}
      onDone={({ token }) => setCreated(token)}
    >
      <p>
        A bearer token for Keyturn's API, with the rights of this user, until it ends or is revoked. It is shown once.
      </p>
      <ExpiryField canBeNever={false} {...field('days')} />
    </ConfirmDialog>
  )
}
