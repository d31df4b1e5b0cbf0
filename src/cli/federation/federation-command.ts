/**
 * `keyturn federation`: the issuers whose JWTs are believed, the federated identities of users, and why a JWT is accepted or refused.
 */
import { InvalidArgumentError } from 'commander'
import { FederatedIdentityService } from '../../../gen/iam/federation/v2/federated_identity_service_pb.js'
import { TrustedIssuerService } from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import type { Api } from '../api.ts'
import { call, group, list, namedFields } from '../commands.ts'
import { USER } from '../identities/references.ts'
import { option } from '../options.ts'
import { checkCommand } from './check-command.ts'
import { ISSUER, ISSUER_OPTIONS, keysFrom } from './issuer-options.ts'

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
      if (failure === '' && fetchDate === undefined)
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
