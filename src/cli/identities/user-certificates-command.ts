/**
 * `keyturn users certificates add | list | remove`: the client certificates with which a user may authenticate.
 */

import { create } from '@bufbuild/protobuf'
import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { createClient } from '@connectrpc/connect'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { CertificateMatch } from '../../../gen/iam/user/v2/client_certificate_pb.js'
import {
  AddClientCertificateResponseSchema,
  ClientCertificateService,
  ListClientCertificatesResponseSchema,
  RemoveClientCertificateResponseSchema,
} from '../../../gen/iam/user/v2/client_certificate_service_pb.js'
import { isUuid } from '../../domain/uuid.ts'
import { confirm, type YesOption, yesOption } from '../confirm.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { everyItemOf } from '../pages.ts'
import { print } from '../print.ts'
import { ageOf, formatTable, timeLeft } from '../table.ts'
import { expiresOption } from '../when.ts'
import { openUser, type UserReference, userArgument } from './references.ts'

interface AddOptions extends RemoteOptions {
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

/** The group of commands. */
export function userCertificatesCommand(io: Io): Command {
  const certificates = new Command('certificates').description(
    'Client certificates with which a user may authenticate (mutual TLS, RFC 8705).',
  )
  certificates.addCommand(addCommand(io))
  certificates.addCommand(listCommand(io))
  certificates.addCommand(removeCommand(io))
  return certificates
}

function addCommand(io: Io): Command {
  return withRemoteOptions(new Command('add'))
    .description('Let a user authenticate with one certificate, or with those of trusted authorities that have a name.')
    .addArgument(userArgument())
    .addOption(
      choice('--file <pem>', 'the certificate itself, which nothing needs to trust; it ends with its validity'),
    )
    .addOption(
      choice('--subject <dn>', 'the whole subject, as RFC 4514 writes it, without "subject=": CN=checkout,O=Shop'),
    )
    .addOption(choice('--dns <name>', 'a DNS name in the subject alternative name'))
    .addOption(choice('--uri <uri>', 'a URI in the subject alternative name, such as a SPIFFE ID'))
    .addOption(expiresOption())
    .action(async (user: UserReference, options: AddOptions, command: Command) => {
      const { match, end } = await matchOf(options, command)
      const { api, userId } = await openUser(io, options, user)
      const expirationDate = options.expires ?? end
      const request = { userId, match: { match }, ...(expirationDate === undefined ? {} : { expirationDate }) }
      const response = await createClient(ClientCertificateService, api).addClientCertificate(request)
      const { certificateId } = response.certificate ?? {}
      print(io, options, AddClientCertificateResponseSchema, response, () => `added ${certificateId}`)
    })
}

function listCommand(io: Io): Command {
  return withRemoteOptions(new Command('list'))
    .description('List the client certificates of a user, oldest first.')
    .addArgument(userArgument())
    .action(async (user: UserReference, options: RemoteOptions) => {
      const { api, userId } = await openUser(io, options, user)
      const client = createClient(ClientCertificateService, api)
      const certificates = await everyItemOf(
        (page) => client.listClientCertificates({ userId, ...page }),
        (response) => response.certificates,
      )
      const response = create(ListClientCertificatesResponseSchema, { certificates })
      print(io, options, ListClientCertificatesResponseSchema, response, (heading) =>
        formatTable(
          ['CERTIFICATE ID', 'MATCH', 'AGE', 'ENDS IN'],
          certificates.map(({ certificateId, match, creationDate, expirationDate }) => [
            certificateId,
            describe(match?.match),
            ageOf(creationDate),
            timeLeft(expirationDate),
          ]),
          heading,
        ),
      )
    })
}

function removeCommand(io: Io): Command {
  return withRemoteOptions(new Command('remove'))
    .description('Remove a client certificate. The user no longer authenticates with it.')
    .addArgument(userArgument())
    .argument('<certificate-id>', 'id of the client certificate', parseCertificateId)
    .addOption(yesOption())
    .action(async (user: UserReference, certificateId: string, options: RemoteOptions & YesOption) => {
      const { api, userId } = await openUser(io, options, user)
      await confirm(
        io,
        options,
        `Remove the client certificate ${certificateId}? The user no longer authenticates with it.`,
      )
      const client = createClient(ClientCertificateService, api)
      const response = await client.removeClientCertificate({ userId, certificateId })
      print(io, options, RemoveClientCertificateResponseSchema, response, () => `removed ${certificateId}`)
    })
}

function parseCertificateId(text: string): string {
  if (isUuid(text)) return text
  throw new InvalidArgumentError('Name a client certificate by its id; "keyturn users certificates list" prints it.')
}

const CHOICES = ['file', 'subject', 'dns', 'uri']

/** An option that excludes the others. */
function choice(flags: string, description: string): Option {
  const option = new Option(flags, description)
  return option.conflicts(CHOICES.filter((name) => name !== option.attributeName()))
}

async function matchOf(
  { file, subject, dns, uri }: AddOptions,
  command: Command,
): Promise<{ readonly match: Match; readonly end?: Timestamp }> {
  if (subject !== undefined) return { match: { case: 'subjectDn', value: subject } }
  if (dns !== undefined) return { match: { case: 'sanDns', value: dns } }
  if (uri !== undefined) return { match: { case: 'sanUri', value: uri } }
  if (file === undefined) command.error('error: one of --file, --subject, --dns and --uri is required')
  const { readCertificateFile } = await import('./certificate-file.ts')
  const { thumbprint, notAfter } = await readCertificateFile(file)
  return { match: { case: 'thumbprint', value: thumbprint }, end: timestampFromDate(notAfter) }
}

function describe(match: Match | undefined): string {
  return match?.case === undefined ? '' : `${LABELS[match.case]}:${match.value}`
}
