/**
 * `keyturn federation issuers`: the issuers whose JWTs are believed.
 */
import { Option } from 'commander'
import type { TrustedIssuer } from '../../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { TrustedIssuerService } from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { call, group, invoke, list } from '../api-command.ts'
import { ageOf, formatFields, momentOf } from '../table.ts'
import {
  describeSource,
  type IssuerOptions,
  issuerOptions,
  keyIdsOf,
  keysFrom,
  limitsFrom,
  nameKeys,
} from './issuer-options.ts'
import { assertIssuerName } from './option-values.ts'
import { ISSUER } from './trusted-issuers.ts'

const { method: Methods } = TrustedIssuerService

interface Chosen {
  readonly options: IssuerOptions
}

/** The group of commands. */
export const issuersCommand = group('issuers', 'The issuers whose JWTs are believed.', [
  list({
    name: 'list',
    description: 'List the trusted issuers by name.',
    method: Methods.listTrustedIssuers,
    items: 'trustedIssuers',
    heading: ['ISSUER ID', 'ISSUER', 'KEYS', 'MAX LIFETIME', 'AGE'],
    row: (trusted) => [
      trusted.issuerId,
      trusted.issuer,
      keyState(trusted),
      `${trusted.maxLifetimeSeconds}s`,
      ageOf(trusted.creationDate),
    ],
  }),
  call({
    name: 'create',
    description: 'Trust an issuer. Its JWTs give no right until a user has an identity that fits them.',
    takes: {
      issuer: { description: 'the exact iss of its JWTs, or spiffe://<trust domain>', check: assertIssuerName },
    },
    options: issuerOptions(),
    method: Methods.createTrustedIssuer,
    async request({ issuer }, { options }: Chosen) {
      const keys = await keysFrom(options)
      if (keys === undefined)
        throw new Error('say where its keys come from: --discovery, --jwks-url, --spiffe-bundle-url or --keys')
      return { issuer, keys, ...limitsFrom(options) }
    },
    text: ({ trustedIssuer }, { issuer }) => `trusted ${issuer} (${trustedIssuer?.issuerId})`,
  }),
  call({
    name: 'show',
    description: 'Print one trusted issuer, and how fetching its keys goes. With --json its keys too.',
    takes: { issuerId: ISSUER },
    method: Methods.getTrustedIssuer,
    text: ({ trustedIssuer }) => formatFields(fieldsOf(trustedIssuer)),
  }),
  call({
    name: 'update',
    description:
      'Change the keys, the algorithms or the longest lifetime of JWTs. What is not named stays. Keys of another source replace those ' +
      'before at once; they are fetched once to see whether they can be.',
    takes: { issuerId: ISSUER },
    options: [
      ...issuerOptions(),
      new Option('--no-issuer-ca', 'trust the usual authorities for the fetch again').conflicts('keys'),
    ],
    method: Methods.updateTrustedIssuer,
    async request({ issuerId }, { api, options }: Chosen & { readonly api: Parameters<typeof invoke>[0] }) {
      const current = async () => (await invoke(api, Methods.getTrustedIssuer, { issuerId })).trustedIssuer?.keys
      const keys = await keysFrom(options, current)
      const paths = [
        ...(keys === undefined ? [] : ['keys']),
        ...(options.algorithms === undefined ? [] : ['algorithms']),
        ...(options.maxLifetime === undefined ? [] : ['max_lifetime_seconds']),
      ]
      if (paths.length === 0)
        throw new Error(
          'say what to change: a source of its keys, --issuer-ca, --max-staleness, --algorithms or --max-lifetime',
        )
      return { issuerId, ...(keys === undefined ? {} : { keys }), ...limitsFrom(options), updateMask: { paths } }
    },
    async finish({ trustedIssuer: updated }, { issuerId }, { api, options, texts }) {
      if (!nameKeys(options) || !isNotFetched(updated)) return undefined
      const { trustedIssuer } = await invoke(api, Methods.refreshTrustedIssuerKeys, { issuerId })
      assertFetched(trustedIssuer, `${texts.issuerId} is updated, and its keys could not be fetched`)
      return {
        response: trustedIssuer === undefined ? {} : { trustedIssuer },
        line: fetchedLine(trustedIssuer),
      }
    },
    text: (_, __, { texts }) => `updated ${texts.issuerId}`,
  }),
  call({
    name: 'refresh',
    description:
      'Have the process of the server that answers fetch the keys of an issuer now, and say what came of it.',
    takes: { issuerId: ISSUER },
    method: Methods.refreshTrustedIssuerKeys,
    async finish({ trustedIssuer }) {
      assertFetched(trustedIssuer, 'the keys could not be fetched')
      return undefined
    },
    text: ({ trustedIssuer }) => fetchedLine(trustedIssuer),
  }),
  call({
    name: 'delete',
    description: 'Delete an issuer, and the federated identities that name it, of all users.',
    takes: { issuerId: ISSUER },
    method: Methods.deleteTrustedIssuer,
    question: (_, { texts }) =>
      `Delete the issuer ${texts.issuerId}, and the federated identities of all users that name it?`,
    text: (_, __, { texts }) => `deleted ${texts.issuerId}`,
  }),
])

/** Whether its keys come from a source from which none have been fetched. */
function isNotFetched({ fetchedKeys }: Partial<TrustedIssuer> = {}): boolean {
  return fetchedKeys !== undefined && fetchedKeys.fetchDate === undefined && fetchedKeys.failure === ''
}

/** @throws {Error} if the last fetch failed. */
function assertFetched(trusted: TrustedIssuer | undefined, failed: string): void {
  const failure = trusted?.fetchedKeys?.failure ?? ''
  if (failure !== '') throw new Error(`${failed}: ${failure}`)
}

function fetchedLine(trusted: TrustedIssuer | undefined): string {
  return `fetched: ${trusted === undefined ? '-' : keyIdsOf(trusted)}`
}

function keyState({ fetchedKeys }: TrustedIssuer): string {
  if (fetchedKeys === undefined) return 'given'
  const { fetchDate, failure } = fetchedKeys
  const state = fetchDate === undefined ? 'not fetched' : `fetched ${ageOf(fetchDate)} ago`
  return failure === '' ? state : `${state}, failing`
}

function fieldsOf(trusted: TrustedIssuer | undefined): [string, string][] {
  if (trusted === undefined) return []
  const { fetchedKeys: fetched, keys } = trusted
  const failure =
    fetched === undefined || fetched.failure === '' ? '-' : `${momentOf(fetched.failureDate)} ${fetched.failure}`
  const fetches: [string, string][] =
    fetched === undefined
      ? []
      : [
          ['fetched', momentOf(fetched.fetchDate)],
          ['used until', momentOf(fetched.expirationDate)],
          ['next fetch', momentOf(fetched.nextFetchDate)],
          ['last failure', failure],
        ]
  return [
    ['issuer ID', trusted.issuerId],
    ['issuer', trusted.issuer],
    ['keys', keys === undefined ? '-' : describeSource(keys)],
    ['key IDs', keyIdsOf(trusted)],
    ...fetches,
    ['algorithms', trusted.algorithms.join(' ')],
    ['max lifetime', `${trusted.maxLifetimeSeconds}s`],
    ['created', momentOf(trusted.creationDate)],
  ]
}
