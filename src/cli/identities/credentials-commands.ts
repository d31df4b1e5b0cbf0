/**
 * The credentials of a user: client secrets (Spec §5), public keys for private_key_jwt, client certificates and personal access tokens.
 */
import { hash, X509Certificate } from 'node:crypto'
import { resolve } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { CertificateMatch } from '../../../gen/iam/user/v2/client_certificate_pb.js'
import { ClientCertificateService } from '../../../gen/iam/user/v2/client_certificate_service_pb.js'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { call, group, list } from '../commands.ts'
import { readCertificates, readJwks } from '../files.ts'
import { alternatives, type Chosen, expirationFrom, expiresOption, option, UsageError } from '../options.ts'
import { endpointsOf, fileTarget, generateInto } from '../secret-targets.ts'
import { USER } from './references.ts'

const { method: Methods } = ServiceUserService

export const secretsCommand = group('secrets', '', [
  call('generate', Methods.generateClientSecret, {
    description: 'Generate a client secret and print it, this once, or write it to a file.',
    takes: { userId: USER },
    options: {
      expires: expiresOption(),
      out: option('--out <file>', 'write a credentials file instead of printing the secret; it must not exist yet'),
    },
    request: ({ userId }, { options }) => ({ userId, ...expirationFrom(options) }),
    async send(request, _, { api, options }) {
      if (options.out === undefined) return await api.call(Methods.generateClientSecret, request)
      const out = resolve(options.out)
      const target = fileTarget(out)
      if ((await target.look()) === 'taken')
        throw new Error(`${out} is there already: nothing was generated; name a new file`)
      const response = await generateInto(target, api, { request, endpoints: await endpointsOf(api.target) })
      // The secret is only in the file.
      return create(Methods.generateClientSecret.output, { ...response, clientSecret: '' })
    },
    text: 'fields',
    note: (_, { options: { out } }) =>
      out === undefined ? 'the secret is not shown again' : `the credentials were written to ${resolve(out)}`,
  }),
  list(Methods.listClientSecrets, 'secrets', {
    description: 'List the secrets of a user without the secrets, oldest first.',
    takes: { userId: USER },
    columns: ['secretId', 'expirationDate', 'deactivationDate', 'lastUseDate'],
  }),
  call('deactivate', Methods.deactivateClientSecret, {
    description: 'Stop a secret from working, for ever. It stays in the list.',
    takes: { userId: USER, secretId: {} },
    question: ({ secretId }) => `Deactivate the secret ${secretId} for good?`,
  }),
  call('delete', Methods.deleteClientSecret, {
    description: 'Delete a secret, whether it works or not.',
    takes: { userId: USER, secretId: {} },
    question: ({ secretId }) => `Delete the secret ${secretId}?`,
  }),
])

export const userKeysCommand = group('keys', 'Public keys of a user, for private_key_jwt (RFC 7523).', [
  call('add', Methods.addUserKey, {
    description: 'Add a public key. The private key stays where it is.',
    takes: {
      userId: USER,
      publicJwk: {
        placeholder: 'file',
        description: 'a public key as a JWK, or a JWK set',
        resolve: (file: string) => readJwks(file, 'public key'),
      },
    },
    options: { expires: expiresOption() },
    request: (key, { options }) => ({ ...key, ...expirationFrom(options) }),
    text: ({ keys }) => keys.map(({ keyId }) => `added ${keyId}`).join('\n'),
  }),
  list(Methods.listUserKeys, 'keys', {
    description: 'List the public keys of a user, oldest first.',
    takes: { userId: USER },
    columns: ['keyId', 'creationDate', 'expirationDate'],
  }),
  call('remove', Methods.removeUserKey, {
    description: 'Remove a public key. Assertions that it signed are refused.',
    takes: { userId: USER, keyId: {} },
    question: ({ keyId }) => `Remove the public key ${keyId}? Assertions that it signed are refused then.`,
  }),
])

export const userTokensCommand = group('tokens', "Personal access tokens of a user, for calls of Keyturn's own API.", [
  call('create', Methods.createPersonalAccessToken, {
    description: 'Create a personal access token and print it, this once.',
    takes: { userId: USER },
    options: { expires: expiresOption().makeOptionMandatory() },
    request: (user, { options }) => ({ ...user, ...expirationFrom(options) }),
    text: 'fields',
    note: () => 'the token is not shown again',
  }),
  list(Methods.listPersonalAccessTokens, 'personalAccessTokens', {
    description: 'List the personal access tokens of a user without the tokens, oldest first.',
    takes: { userId: USER },
    columns: ['tokenId', 'creationDate', 'expirationDate'],
  }),
  call('revoke', Methods.revokePersonalAccessToken, {
    description: 'Revoke a personal access token at once.',
    takes: { userId: USER, tokenId: {} },
    question: ({ tokenId }) => `Revoke the personal access token ${tokenId} for good?`,
  }),
])

type Match = CertificateMatch['match']

const MATCH_OPTIONS = alternatives({
  file: option('--file <pem>', 'the certificate itself, which nothing needs to trust; it ends with its validity'),
  subject: option('--subject <dn>', 'the whole subject, as RFC 4514 writes it, without "subject=": CN=checkout,O=Shop'),
  dns: option('--dns <name>', 'a DNS name in the subject alternative name'),
  uri: option('--uri <uri>', 'a URI in the subject alternative name, such as a SPIFFE ID'),
})

const { method: Certificates } = ClientCertificateService

export const userCertificatesCommand = group(
  'certificates',
  'Client certificates with which a user may authenticate (mutual TLS, RFC 8705).',
  [
    call('add', Certificates.addClientCertificate, {
      description:
        'Let a user authenticate with one certificate, or with those of trusted authorities that have a name.',
      takes: { userId: USER },
      options: { ...MATCH_OPTIONS, expires: expiresOption() },
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
    list(Certificates.listClientCertificates, 'certificates', {
      description: 'List the client certificates of a user, oldest first.',
      takes: { userId: USER },
      columns: ['certificateId', 'match', 'expirationDate'],
    }),
    call('remove', Certificates.removeClientCertificate, {
      description: 'Remove a client certificate. The user no longer authenticates with it.',
      takes: { userId: USER, certificateId: {} },
      question: ({ certificateId }) =>
        `Remove the client certificate ${certificateId}? The user no longer authenticates with it.`,
    }),
  ],
)

/** What a certificate must match, and its end if it is the certificate itself: the first one in the file, which is that of the client. */
async function matchOf({
  file = '',
  subject,
  dns,
  uri,
}: Partial<Chosen<typeof MATCH_OPTIONS>>): Promise<{ match: Match; expirationDate?: Timestamp }> {
  if (subject !== undefined) return { match: { case: 'subjectDn', value: subject } }
  if (dns !== undefined) return { match: { case: 'sanDns', value: dns } }
  if (uri !== undefined) return { match: { case: 'sanUri', value: uri } }
  const pem = await readCertificates(file, 'certificate')
  try {
    const { raw, validToDate } = new X509Certificate(pem)
    const match: Match = { case: 'thumbprint', value: hash('sha256', raw, 'base64url') }
    return { match, expirationDate: timestampFromDate(validToDate) }
  } catch (cause) {
    throw new Error(`${file} has no certificate in PEM`, { cause })
  }
}
