/**
 * `keyturn users certificates add | list | remove`: the client certificates with which a user may authenticate.
 */
import { hash, X509Certificate } from 'node:crypto'
import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { InvalidArgumentError, Option } from 'commander'
import type { CertificateMatch } from '../../../gen/iam/user/v2/client_certificate_pb.js'
import { ClientCertificateService } from '../../../gen/iam/user/v2/client_certificate_service_pb.js'
import { isUuid } from '../../domain/uuid.ts'
import { call, group, list } from '../api-command.ts'
import { ageOf, timeLeft } from '../table.ts'
import { readTextFile } from '../text-file.ts'
import { expiresOption } from '../when.ts'
import { USER } from './references.ts'

interface AddOptions {
  readonly file?: string
  readonly subject?: string
  readonly dns?: string
  readonly uri?: string
  readonly expires?: Timestamp
}

type Match = CertificateMatch['match']

const LABELS: Readonly<Record<NonNullable<Match['case']>, string>> = {
  subjectDn: 'subject',
  sanDns: 'dns',
  sanUri: 'uri',
  thumbprint: 'sha256',
}

const CHOICES = ['file', 'subject', 'dns', 'uri'] as const

const { method: Methods } = ClientCertificateService

/** The group of commands. */
export const userCertificatesCommand = group(
  'certificates',
  'Client certificates with which a user may authenticate (mutual TLS, RFC 8705).',
  [
    call({
      name: 'add',
      description:
        'Let a user authenticate with one certificate, or with those of trusted authorities that have a name.',
      takes: { userId: USER },
      options: [
        choice('--file <pem>', 'the certificate itself, which nothing needs to trust; it ends with its validity'),
        choice('--subject <dn>', 'the whole subject, as RFC 4514 writes it, without "subject=": CN=checkout,O=Shop'),
        choice('--dns <name>', 'a DNS name in the subject alternative name'),
        choice('--uri <uri>', 'a URI in the subject alternative name, such as a SPIFFE ID'),
        expiresOption(),
      ],
      check(options: AddOptions, command) {
        if (CHOICES.every((name) => options[name] === undefined))
          command.error('error: one of --file, --subject, --dns and --uri is required')
      },
      method: Methods.addClientCertificate,
      async request({ userId }, { options }: { readonly options: AddOptions }) {
        const { match, end } = await matchOf(options)
        const expirationDate = options.expires ?? end
        return { userId, match: { match }, ...(expirationDate === undefined ? {} : { expirationDate }) }
      },
      text: ({ certificate }) => `added ${certificate?.certificateId}`,
    }),
    list({
      name: 'list',
      description: 'List the client certificates of a user, oldest first.',
      takes: { userId: USER },
      method: Methods.listClientCertificates,
      items: 'certificates',
      heading: ['CERTIFICATE ID', 'MATCH', 'AGE', 'ENDS IN'],
      row: ({ certificateId, match, creationDate, expirationDate }) => [
        certificateId,
        describe(match?.match),
        ageOf(creationDate),
        timeLeft(expirationDate),
      ],
    }),
    call({
      name: 'remove',
      description: 'Remove a client certificate. The user no longer authenticates with it.',
      takes: {
        userId: USER,
        certificateId: { description: 'id of the client certificate', check: assertCertificateId },
      },
      method: Methods.removeClientCertificate,
      question: ({ certificateId }) =>
        `Remove the client certificate ${certificateId}? The user no longer authenticates with it.`,
      text: (_, { certificateId }) => `removed ${certificateId}`,
    }),
  ],
)

function assertCertificateId(text: string): void {
  if (!isUuid(text))
    throw new InvalidArgumentError('Name a client certificate by its id; "keyturn users certificates list" prints it.')
}

/** An option that excludes the others. */
function choice(flags: string, description: string): Option {
  const option = new Option(flags, description)
  return option.conflicts(CHOICES.filter((name) => name !== option.attributeName()))
}

async function matchOf({ file = '', subject, dns, uri }: AddOptions): Promise<{ match: Match; end?: Timestamp }> {
  if (subject !== undefined) return { match: { case: 'subjectDn', value: subject } }
  if (dns !== undefined) return { match: { case: 'sanDns', value: dns } }
  if (uri !== undefined) return { match: { case: 'sanUri', value: uri } }
  const { raw, validToDate } = await readCertificate(file)
  return {
    match: { case: 'thumbprint', value: hash('sha256', raw, 'base64url') },
    end: timestampFromDate(validToDate),
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/
const PRIVATE_KEY = /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/

/**
 * The first certificate in a PEM file, which is that of the client.
 *
 * @throws {Error} if there is none, if it has expired, or if the file has a private key, which belongs into no file that is handed around.
 */
async function readCertificate(file: string): Promise<X509Certificate> {
  const text = await readTextFile(file)
  if (PRIVATE_KEY.test(text))
    throw new Error(`${file} has a private key: nothing was sent; make a file with the certificate only`)
  const certificate = parse(text, file)
  if (certificate.validToDate.getTime() < Date.now()) {
    const end = certificate.validToDate.toISOString().replace(/\.\d+/, '')
    throw new Error(`the certificate in ${file} expired at ${end}: nothing was sent`)
  }
  return certificate
}

function parse(text: string, file: string): X509Certificate {
  try {
    return new X509Certificate(CERTIFICATE.exec(text)?.[0] ?? '')
  } catch (cause) {
    throw new Error(`${file} has no certificate in PEM`, { cause })
  }
}

function describe(match: Match | undefined): string {
  return match?.case === undefined ? '' : `${LABELS[match.case]}:${match.value}`
}
