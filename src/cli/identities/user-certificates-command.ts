/**
 * `keyturn users certificates add | list | remove`: the client certificates with which a user may authenticate.
 */
import { hash, X509Certificate } from 'node:crypto'
import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { InvalidArgumentError } from 'commander'
import type { CertificateMatch } from '../../../gen/iam/user/v2/client_certificate_pb.js'
import { ClientCertificateService } from '../../../gen/iam/user/v2/client_certificate_service_pb.js'
import { isUuid } from '../../domain/uuid.ts'
import { call, group, list } from '../commands.ts'
import { readCertificates } from '../files.ts'
import { alternatives, type Chosen, option, UsageError } from '../options.ts'
import { ageOf, expirationFrom, expiresOption, formatMoment, timeLeft } from '../times.ts'
import { USER } from './references.ts'

type Match = CertificateMatch['match']

const LABELS: Readonly<Record<NonNullable<Match['case']>, string>> = {
  subjectDn: 'subject',
  sanDns: 'dns',
  sanUri: 'uri',
  thumbprint: 'sha256',
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/

const MATCH_OPTIONS = alternatives({
  file: option('--file <pem>', 'the certificate itself, which nothing needs to trust; it ends with its validity'),
  subject: option('--subject <dn>', 'the whole subject, as RFC 4514 writes it, without "subject=": CN=checkout,O=Shop'),
  dns: option('--dns <name>', 'a DNS name in the subject alternative name'),
  uri: option('--uri <uri>', 'a URI in the subject alternative name, such as a SPIFFE ID'),
})

const { method: Methods } = ClientCertificateService

/** The group of commands. */
export const userCertificatesCommand = group(
  'certificates',
  [
    call('add', Methods.addClientCertificate, {
      description:
        'Let a user authenticate with one certificate, or with those of trusted authorities that have a name.',
      takes: { userId: USER },
      options: {
        ...MATCH_OPTIONS,
        expires: expiresOption(),
      },
      check({ file, subject, dns, uri }) {
        if ((file ?? subject ?? dns ?? uri) === undefined)
          throw new UsageError('one of --file, --subject, --dns and --uri is required')
      },
      async request({ userId }, { options }) {
        const { match, ...end } = await matchOf(options)
        return { userId, match: { match }, ...end, ...expirationFrom(options) }
      },
      text: ({ certificate }) => `added ${certificate?.certificateId}`,
    }),
    list(Methods.listClientCertificates, 'certificates', {
      description: 'List the client certificates of a user, oldest first.',
      takes: { userId: USER },
      heading: ['CERTIFICATE ID', 'MATCH', 'AGE', 'ENDS IN'],
      row: ({ certificateId, match, creationDate, expirationDate }) => [
        certificateId,
        describe(match?.match),
        ageOf(creationDate),
        timeLeft(expirationDate),
      ],
    }),
    call('remove', Methods.removeClientCertificate, {
      description: 'Remove a client certificate. The user no longer authenticates with it.',
      takes: {
        userId: USER,
        certificateId: { description: 'id of the client certificate', check: assertCertificateId },
      },
      question: ({ certificateId }) =>
        `Remove the client certificate ${certificateId}? The user no longer authenticates with it.`,
      text: (_, { certificateId }) => `removed ${certificateId}`,
    }),
  ],
  'Client certificates with which a user may authenticate (mutual TLS, RFC 8705).',
)

function assertCertificateId(text: string): void {
  if (!isUuid(text))
    throw new InvalidArgumentError('Name a client certificate by its id; "keyturn users certificates list" prints it.')
}

/** What a certificate must match, and its end if it is the certificate itself. */
async function matchOf({
  file = '',
  subject,
  dns,
  uri,
}: Partial<Chosen<typeof MATCH_OPTIONS>>): Promise<{ match: Match; expirationDate?: Timestamp }> {
  if (subject !== undefined) return { match: { case: 'subjectDn', value: subject } }
  if (dns !== undefined) return { match: { case: 'sanDns', value: dns } }
  if (uri !== undefined) return { match: { case: 'sanUri', value: uri } }
  const { raw, validToDate } = await readCertificate(file)
  const expirationDate = timestampFromDate(validToDate)
  return { match: { case: 'thumbprint', value: hash('sha256', raw, 'base64url') }, expirationDate }
}

/** The first certificate in a PEM file, which is that of the client. @throws {Error} if there is none, or it has expired. */
async function readCertificate(file: string): Promise<X509Certificate> {
  const text = await readCertificates(file, 'certificate')
  const certificate = parse(CERTIFICATE.exec(text)?.[0] ?? '', file)
  if (certificate.validToDate.getTime() >= Date.now()) return certificate
  const end = formatMoment(timestampFromDate(certificate.validToDate))
  throw new Error(`the certificate in ${file} expired at ${end}: nothing was sent`)
}

function parse(pem: string, file: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch (cause) {
    throw new Error(`${file} has no certificate in PEM`, { cause })
  }
}

function describe(match: Match | undefined): string {
  return match?.case === undefined ? '' : `${LABELS[match.case]}:${match.value}`
}
