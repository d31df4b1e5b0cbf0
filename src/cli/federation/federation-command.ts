/**
 * `keyturn federation`: the issuers whose JWTs are believed, the federated identities of users, and why a JWT is accepted or refused.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { InvalidArgumentError } from 'commander'
import { FederatedIdentityService } from '../../../gen/iam/federation/v2/federated_identity_service_pb.js'
import {
  type IssuerKeys,
  type IssuerKeysSchema,
  OpenIdDiscoverySchema,
} from '../../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { TrustedIssuerService } from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { DEFAULT_MAX_LIFETIME_SECONDS, DEFAULT_MAX_STALENESS_SECONDS } from '../../domain/federation/trusted-issuer.ts'
import { ASSERTION_ALGORITHMS } from '../../domain/keys/assertion-algorithm.ts'
import type { Api } from '../api.ts'
import { call, group, list, namedFields } from '../commands.ts'
import { certificatesFrom, readJwks } from '../files.ts'
import { named, USER } from '../identities/references.ts'
import { alternatives, type Chosen, flag, option, parseHttpsUrl, wholeNumber } from '../options.ts'
import { checkCommand } from './check-command.ts'

const ISSUER = named('trusted issuer', [TrustedIssuerService.method.listTrustedIssuers, 'trustedIssuers'], {
  nameAndId: ({ issuer, issuerId }) => [issuer, issuerId],
  lister: 'federation issuers list',
})

/** What commands may set of an issuer. A command takes one source of keys. */
const ISSUER_OPTIONS = {
  ...alternatives({
    discovery: flag('--discovery', 'fetch the keys from where the OpenID discovery document of the issuer says'),
    jwksUrl: option('--jwks-url <url>', 'fetch the keys from a JWK set').argParser(parseHttpsUrl),
    spiffeBundleUrl: option(
      '--spiffe-bundle-url <url>',
      'fetch the keys from the bundle of a SPIFFE trust domain',
    ).argParser(parseHttpsUrl),
    keys: option('--keys <file>', 'a file with the public keys of the issuer, as a JWK set: none are fetched'),
  }),
  /** False: the usual authorities. */
  issuerCa: option<string | false | undefined>(
    '--issuer-ca <file>',
    'certificates (PEM) that are trusted for the fetch, instead of the usual ones',
  ).conflicts('keys'),
  maxStaleness: option<number | undefined>(
    '--max-staleness <seconds>',
    `how long fetched keys are used while the issuer is away, 600 to 2592000; a new issuer has ${DEFAULT_MAX_STALENESS_SECONDS}`,
  )
    .argParser(wholeNumber(600, 2_592_000))
    .conflicts('keys'),
  algorithms: option<string[] | undefined>(
    '--algorithms <alg...>',
    'the algorithms of its JWTs; a new issuer has all',
  ).choices(ASSERTION_ALGORITHMS),
  maxLifetime: option<number | undefined>(
    '--max-lifetime <seconds>',
    `the longest lifetime of its JWTs, 60 to 86400; a new issuer has ${DEFAULT_MAX_LIFETIME_SECONDS}`,
  ).argParser(wholeNumber(60, 86_400)),
}

type IssuerOptions = Chosen<typeof ISSUER_OPTIONS>

/**
 * The keys that the options say; undefined if they say nothing.
 *
 * @param current Where the keys come from now. What the options do not name stays.
 * @throws {Error} if they say how to fetch keys, and from where is said nowhere.
 */
async function keysFrom(
  options: IssuerOptions,
  current?: () => Promise<IssuerKeys | undefined>,
): Promise<MessageInitShape<typeof IssuerKeysSchema> | undefined> {
  const caCertificates = await certificatesFrom(options.issuerCa)
  const { fields, updateMask } = namedFields({ caCertificates, maxStalenessSeconds: options.maxStaleness })
  const source = await sourceFrom(options)
  if (source === undefined && updateMask.paths.length === 0) return undefined
  if (source?.case === 'jwks') return { source }
  const keys = await current?.()
  const before = keys?.source.case === 'jwks' ? undefined : keys
  if (before !== undefined) return { ...before, ...fields, ...(source === undefined ? {} : { source }) }
  if (source !== undefined) return { ...fields, source }
  throw new Error('--issuer-ca and --max-staleness go with a source: --discovery, --jwks-url or --spiffe-bundle-url')
}

async function sourceFrom({ keys, discovery, jwksUrl, spiffeBundleUrl }: IssuerOptions) {
  if (keys !== undefined) return { case: 'jwks', value: await readJwks(keys) } as const
  if (jwksUrl !== undefined) return { case: 'jwksUrl', value: jwksUrl } as const
  if (spiffeBundleUrl !== undefined) return { case: 'spiffeBundleUrl', value: spiffeBundleUrl } as const
  return discovery === undefined ? undefined : ({ case: 'discovery', value: create(OpenIdDiscoverySchema) } as const)
}

interface Claim {
  readonly pointer: string
  readonly value: string
}

const { method: Identities } = FederatedIdentityService

const IDENTITIES = group('identities', 'The JWTs of trusted issuers that a user may prove itself with.', [
  list(Identities.listFederatedIdentities, 'identities', {
    description: 'List the federated identities of a user, oldest first.',
    takes: { userId: USER },
    columns: ['identityId', 'issuerId', 'subject', 'claims'],
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
    takes: { userId: USER, identityId: {} },
    question: ({ identityId }) => `Remove the federated identity ${identityId}? JWTs that fit it are refused then.`,
  }),
])

/** The pointer ends at the first equals sign, which a name can have only in a request of another kind. */
function parseClaim(text: string): Claim {
  const at = text.indexOf('=')
  if (!text.startsWith('/') || at < 0)
    throw new InvalidArgumentError('It is a JSON pointer, = and a text: /repository=shop/web.')
  return { pointer: text.slice(0, at), value: text.slice(at + 1) }
}

const { method: Issuers } = TrustedIssuerService

const ISSUERS = group('issuers', 'The issuers whose JWTs are believed.', [
  list(Issuers.listTrustedIssuers, 'trustedIssuers', {
    description: 'List the trusted issuers by name.',
    columns: ['issuerId', 'issuer', 'maxLifetimeSeconds', 'creationDate'],
  }),
  call('create', Issuers.createTrustedIssuer, {
    description: 'Trust an issuer. Its JWTs give no right until a user has an identity that fits them.',
    takes: {
      issuer: { description: 'the exact iss of its JWTs, or spiffe://<trust domain>' },
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
    description: 'Print one trusted issuer, its keys, and how fetching them goes.',
    takes: { issuerId: ISSUER },
    text: 'fields',
  }),
  call('update', Issuers.updateTrustedIssuer, {
    description:
      'Change the keys, the algorithms or the longest lifetime of JWTs. What is not named stays. Keys of another source replace those ' +
      'before at once; they are fetched once to see whether they can be.',
    takes: { issuerId: ISSUER },
    options: {
      ...ISSUER_OPTIONS,
      noIssuerCa: option('--no-issuer-ca', 'trust the usual authorities for the fetch again').conflicts('keys'),
    },
    async request({ issuerId }, { api, options }) {
      const current = async () => (await api.call(Issuers.getTrustedIssuer, { issuerId })).trustedIssuer?.keys
      const { algorithms, maxLifetime: maxLifetimeSeconds } = options
      const keys = await keysFrom(options, current)
      const { fields, updateMask } = namedFields({ keys, algorithms, maxLifetimeSeconds })
      if (updateMask.paths.length > 0) return { issuerId, ...fields, updateMask }
      throw new Error(
        'say what to change: a source of its keys, --issuer-ca, --max-staleness, --algorithms or --max-lifetime',
      )
    },
    async send(request, { issuerId }, { api, texts }) {
      const updated = await api.call(Issuers.updateTrustedIssuer, request)
      const { fetchDate, failure } = updated.trustedIssuer?.fetchedKeys ?? {}
      // Of another source: whether they can be is seen at once.
      if (request.keys !== undefined && failure === '' && fetchDate === undefined)
        await refreshed(api, issuerId, `${texts.issuerId} is updated, and its keys`)
      return updated
    },
    text: (_, __, { texts }) => `updated ${texts.issuerId}`,
  }),
  call('refresh', Issuers.refreshTrustedIssuerKeys, {
    description:
      'Have the process of the server that answers fetch the keys of an issuer now, and say what came of it.',
    takes: { issuerId: ISSUER },
    send: (_, { issuerId }, { api }) => refreshed(api, issuerId, 'the keys'),
    text: 'fields',
  }),
  call('delete', Issuers.deleteTrustedIssuer, {
    description: 'Delete an issuer, and the federated identities that name it, of all users.',
    takes: { issuerId: ISSUER },
    question: (_, { texts }) =>
      `Delete the issuer ${texts.issuerId}, and the federated identities of all users that name it?`,
  }),
])

export const federationCommand = group('federation', '', [ISSUERS, IDENTITIES, checkCommand])

/** Has the keys of an issuer fetched. @throws {Error} if that failed. */
async function refreshed(api: Api, issuerId: string, what: string) {
  const response = await api.call(Issuers.refreshTrustedIssuerKeys, { issuerId })
  const failure = response.trustedIssuer?.fetchedKeys?.failure ?? ''
  if (failure !== '') throw new Error(`${what} could not be fetched: ${failure}`)
  return response
}
