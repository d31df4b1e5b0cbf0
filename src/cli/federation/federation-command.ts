/**
 * `keyturn federation`: the issuers whose JWTs are believed, the federated identities of users, and why a JWT is accepted or refused.
 */
import { create, toJson } from '@bufbuild/protobuf'
import { InvalidArgumentError } from 'commander'
import { FederatedIdentityService } from '../../../gen/iam/federation/v2/federated_identity_service_pb.js'
import type { IssuerKeys, TrustedIssuer } from '../../../gen/iam/federation/v2/trusted_issuer_pb.js'
import {
  type RefreshTrustedIssuerKeysResponse,
  TrustedIssuerService,
} from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { isUuid } from '../../domain/identifiers.ts'
import { call, command, group, list, namedFields } from '../commands.ts'
import { USER } from '../identities/references.ts'
import { option } from '../options.ts'
import { formatFields, printResult } from '../output.ts'
import { ageOf, formatMoment } from '../times.ts'
import { checkCommand } from './check-command.ts'
import { ISSUER, ISSUER_OPTIONS, keyIdsOf, keysFrom, saysHowToFetch } from './issuer-options.ts'

interface Claim {
  readonly pointer: string
  readonly value: string
}

const { method: Identities } = FederatedIdentityService

const IDENTITIES = group('identities', 'The JWTs of trusted issuers that a user may prove itself with.', [
  list(Identities.listFederatedIdentities, 'identities', {
    description: 'List the federated identities of a user, oldest first.',
    takes: { userId: USER },
    heading: ['IDENTITY ID', 'ISSUER ID', 'SUBJECT', 'CLAIMS', 'AGE'],
    row: ({ identityId, issuerId, subject, claims, creationDate }) => [
      identityId,
      issuerId,
      subject,
      claims.map(({ pointer, value }) => `${pointer}=${value}`).join(' '),
      ageOf(creationDate),
    ],
  }),
  call('add', Identities.addFederatedIdentity, {
    description:
      'Let a user prove itself with JWTs of a trusted issuer. Every value must be equal; there are no patterns.',
    takes: { userId: USER },
    options: {
      issuer: option<string>('--issuer <issuer>', 'name or id of the trusted issuer').makeOptionMandatory(),
      subject: option<string>('--subject <sub>', 'the exact sub of the JWTs').makeOptionMandatory(),
      audience: option('--audience <aud>', 'the one aud of the JWTs; default: the issuer of this service'),
      claim: option<Claim[]>(
        '--claim <pointer=value>',
        'a claim that the JWTs must have, by JSON pointer; can be repeated',
      )
        .default([])
        .argParser((text: string, before: readonly Claim[]) => [...before, parseClaim(text)]),
    },
    async request({ userId }, { api, options }) {
      const { issuer, subject, audience = '', claim: claims } = options
      return { userId, issuerId: await ISSUER.resolve(issuer, api), subject, audience, claims }
    },
    text: ({ identity }) => `added ${identity?.identityId}`,
  }),
  call('remove', Identities.removeFederatedIdentity, {
    description: 'Remove a federated identity. JWTs that fit it are refused.',
    takes: { userId: USER, identityId: { resolve: identityIdIn } },
    question: ({ identityId }) => `Remove the federated identity ${identityId}? JWTs that fit it are refused then.`,
  }),
])

function identityIdIn(text: string): string {
  if (isUuid(text.toLowerCase())) return text
  const hint = '"keyturn federation identities list" prints those of a user'
  throw new Error(`${JSON.stringify(text)} is no id of a federated identity: ${hint}`)
}

/** The pointer ends at the first equals sign, which a name can have only in a request of another kind. */
function parseClaim(text: string): Claim {
  const at = text.indexOf('=')
  if (!text.startsWith('/') || at < 0)
    throw new InvalidArgumentError('It is a JSON pointer, = and a text: /repository=shop/web.')
  return { pointer: text.slice(0, at), value: text.slice(at + 1) }
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

const { method: Issuers } = TrustedIssuerService

const ISSUERS = group('issuers', 'The issuers whose JWTs are believed.', [
  list(Issuers.listTrustedIssuers, 'trustedIssuers', {
    description: 'List the trusted issuers by name.',
    heading: ['ISSUER ID', 'ISSUER', 'KEYS', 'MAX LIFETIME', 'AGE'],
    row: (trusted) => [
      trusted.issuerId,
      trusted.issuer,
      keyState(trusted),
      `${trusted.maxLifetimeSeconds}s`,
      ageOf(trusted.creationDate),
    ],
  }),
  call('create', Issuers.createTrustedIssuer, {
    description: 'Trust an issuer. Its JWTs give no right until a user has an identity that fits them.',
    takes: {
      issuer: { description: 'the exact iss of its JWTs, or spiffe://<trust domain>', check: assertIssuerName },
    },
    options: ISSUER_OPTIONS,
    async request({ issuer }, { options }) {
      const keys = await keysFrom(options)
      if (keys === undefined)
        throw new Error('say where its keys come from: --discovery, --jwks-url, --spiffe-bundle-url or --keys')
      const { algorithms = [], maxLifetime } = options
      return { issuer, keys, algorithms, ...namedFields({ maxLifetimeSeconds: maxLifetime }).fields }
    },
    text: ({ trustedIssuer }, { issuer }) => `trusted ${issuer} (${trustedIssuer?.issuerId})`,
  }),
  call('show', Issuers.getTrustedIssuer, {
    description: 'Print one trusted issuer, and how fetching its keys goes. With --json its keys too.',
    takes: { issuerId: ISSUER },
    text: ({ trustedIssuer }) => (trustedIssuer === undefined ? '' : formatFields(fieldsOf(trustedIssuer))),
  }),
  command('update', {
    description:
      'Change the keys, the algorithms or the longest lifetime of JWTs. What is not named stays. Keys of another source replace those ' +
      'before at once; they are fetched once to see whether they can be.',
    takes: { issuerId: ISSUER },
    options: {
      ...ISSUER_OPTIONS,
      noIssuerCa: option('--no-issuer-ca', 'trust the usual authorities for the fetch again').conflicts('keys'),
    },
    async run({ issuerId }, { io, api, options, texts }) {
      const current = async () => (await api.call(Issuers.getTrustedIssuer, { issuerId })).trustedIssuer?.keys
      const { algorithms, maxLifetime: maxLifetimeSeconds } = options
      const keys = await keysFrom(options, current)
      const { fields, updateMask } = namedFields({ keys, algorithms, maxLifetimeSeconds })
      if (updateMask.paths.length === 0)
        throw new Error(
          'say what to change: a source of its keys, --issuer-ca, --max-staleness, --algorithms or --max-lifetime',
        )
      const { trustedIssuer } = await api.call(Issuers.updateTrustedIssuer, { issuerId, ...fields, updateMask })
      const response = create(Issuers.refreshTrustedIssuerKeys.output, trustedIssuer && { trustedIssuer })
      const isToFetch = saysHowToFetch(options) && isNotFetched(trustedIssuer)
      const last = isToFetch ? await api.call(Issuers.refreshTrustedIssuerKeys, { issuerId }) : response
      if (isToFetch) assertFetched(last, `${texts.issuerId} is updated, and its keys could not be fetched`)
      // Both responses have the issuer.
      const json = toJson(Issuers.refreshTrustedIssuerKeys.output, last)
      await printResult(io, options, json, () =>
        [`updated ${texts.issuerId}`, ...(isToFetch ? [fetchedLine(last)] : [])].join('\n'),
      )
    },
  }),
  call('refresh', Issuers.refreshTrustedIssuerKeys, {
    description:
      'Have the process of the server that answers fetch the keys of an issuer now, and say what came of it.',
    takes: { issuerId: ISSUER },
    async around({ send }) {
      const response = await send()
      assertFetched(response, 'the keys could not be fetched')
      return response
    },
    text: fetchedLine,
  }),
  call('delete', Issuers.deleteTrustedIssuer, {
    description: 'Delete an issuer, and the federated identities that name it, of all users.',
    takes: { issuerId: ISSUER },
    question: (_, { texts }) =>
      `Delete the issuer ${texts.issuerId}, and the federated identities of all users that name it?`,
  }),
])

export const federationCommand = group('federation', '', [ISSUERS, IDENTITIES, checkCommand])

/** @throws {InvalidArgumentError} for a text that is no name of an issuer. The server has the last word. */
function assertIssuerName(text: string): void {
  const { protocol, hostname, username, search, hash } = URL.canParse(text) ? new URL(text) : {}
  const isHttp = protocol === 'https:' || (protocol === 'http:' && LOOPBACK.includes(hostname ?? ''))
  const isUrl = isHttp && username === '' && search === '' && hash === ''
  if (isUrl || /^spiffe:\/\/[a-z0-9._-]{1,255}$/.test(text)) return
  throw new InvalidArgumentError('It is an https URL (http on a loopback address), or spiffe:// and a trust domain.')
}

function isNotFetched({ fetchedKeys }: Partial<TrustedIssuer> = {}): boolean {
  return fetchedKeys !== undefined && fetchedKeys.fetchDate === undefined && fetchedKeys.failure === ''
}

/** @throws {Error} if the last fetch failed. */
function assertFetched({ trustedIssuer }: RefreshTrustedIssuerKeysResponse, failed: string): void {
  const failure = trustedIssuer?.fetchedKeys?.failure ?? ''
  if (failure !== '') throw new Error(`${failed}: ${failure}`)
}

function fetchedLine({ trustedIssuer }: RefreshTrustedIssuerKeysResponse): string {
  return `fetched: ${trustedIssuer === undefined ? '-' : keyIdsOf(trustedIssuer)}`
}

function keyState({ fetchedKeys }: TrustedIssuer): string {
  if (fetchedKeys === undefined) return 'given'
  const { fetchDate, failure } = fetchedKeys
  const state = fetchDate === undefined ? 'not fetched' : `fetched ${ageOf(fetchDate)} ago`
  return failure === '' ? state : `${state}, failing`
}

function fieldsOf(trusted: TrustedIssuer): [string, string][] {
  const { fetchedKeys: fetched, keys } = trusted
  const fetches: [string, string][] =
    fetched === undefined
      ? []
      : [
          ['fetched', formatMoment(fetched.fetchDate)],
          ['used until', formatMoment(fetched.expirationDate)],
          ['next fetch', formatMoment(fetched.nextFetchDate)],
          ['last failure', fetched.failure === '' ? '-' : `${formatMoment(fetched.failureDate)} ${fetched.failure}`],
        ]
  return [
    ['issuer ID', trusted.issuerId],
    ['issuer', trusted.issuer],
    ['keys', keys === undefined ? '-' : describeSource(keys)],
    ['key IDs', keyIdsOf(trusted)],
    ...fetches,
    ['algorithms', trusted.algorithms.join(' ')],
    ['max lifetime', `${trusted.maxLifetimeSeconds}s`],
    ['created', formatMoment(trusted.creationDate)],
  ]
}

/** Where the keys of an issuer come from, in a few words. */
function describeSource({ source }: IssuerKeys): string {
  switch (source.case) {
    case 'discovery':
      return 'by discovery'
    case 'jwksUrl':
    case 'spiffeBundleUrl':
      return `from ${source.value}`
    default:
      return 'given'
  }
}
