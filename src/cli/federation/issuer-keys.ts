/**
 * Keys of trusted issuers for commands: the options that say where they come from, and what is known of them.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { Option } from 'commander'
import {
  type IssuerKeys,
  type IssuerKeysSchema,
  OpenIdDiscoverySchema,
  type TrustedIssuer,
} from '../../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { parseIssuerKeys, parsePublishedKeys } from '../../crypto/issuer-key.ts'
import { DEFAULT_MAX_STALENESS_SECONDS, type IssuerKey } from '../../domain/federation/issuer-keys.ts'
import { ageOf } from '../table.ts'
import { readTextFile } from '../text-file.ts'
import { readJwks } from './jwks-file.ts'
import { parseKeysUrl, secondsBetween } from './option-values.ts'

/** Values of the options. */
export interface KeyOptions {
  readonly keys?: string
  readonly discovery?: true
  readonly jwksUrl?: string
  readonly spiffeBundleUrl?: string
  /** False: the usual authorities. */
  readonly issuerCa?: string | false
  readonly maxStaleness?: number
}

const SOURCES = ['keys', 'discovery', 'jwksUrl', 'spiffeBundleUrl'] as const

/** The options that name a source of keys, of which a command takes one. */
export function keyOptions(): readonly Option[] {
  const options = [
    new Option('--discovery', 'fetch the keys from where the OpenID discovery document of the issuer says'),
    new Option('--jwks-url <url>', 'fetch the keys from a JWK set').argParser(parseKeysUrl),
    new Option('--spiffe-bundle-url <url>', 'fetch the keys from the bundle of a SPIFFE trust domain').argParser(
      parseKeysUrl,
    ),
    new Option('--keys <file>', 'a file with the public keys of the issuer, as a JWK set: none are fetched'),
  ]
  for (const option of options) option.conflicts(SOURCES.filter((source) => source !== option.attributeName()))
  return [
    ...options,
    new Option(
      '--issuer-ca <file>',
      'certificates (PEM) that are trusted for the fetch, instead of the usual ones',
    ).conflicts('keys'),
    new Option(
      '--max-staleness <seconds>',
      `how long fetched keys are used while the issuer is away, 600 to 2592000; a new issuer has ${DEFAULT_MAX_STALENESS_SECONDS}`,
    )
      .argParser(secondsBetween(600, 2_592_000))
      .conflicts('keys'),
  ]
}

/**
 * The keys that the options say; undefined if they say nothing.
 *
 * @param current Where the keys come from now. What the options do not name stays.
 * @throws {Error} if they say how to fetch keys, and from where is said nowhere.
 */
export async function keysFrom(
  options: KeyOptions,
  current?: () => Promise<IssuerKeys | undefined>,
): Promise<MessageInitShape<typeof IssuerKeysSchema> | undefined> {
  const { issuerCa, maxStaleness: maxStalenessSeconds } = options
  const named = {
    ...(issuerCa === undefined ? {} : { caCertificates: issuerCa === false ? '' : await readCertificates(issuerCa) }),
    ...(maxStalenessSeconds === undefined ? {} : { maxStalenessSeconds }),
  }
  const source = await sourceFrom(options)
  if (source === undefined && Object.keys(named).length === 0) return undefined
  if (source?.case === 'jwks') return { source }
  const keys = await current?.()
  const before = keys?.source.case === 'jwks' ? undefined : keys
  if (before !== undefined) return { ...before, ...named, ...(source === undefined ? {} : { source }) }
  if (source !== undefined) return { ...named, source }
  throw new Error('--issuer-ca and --max-staleness go with a source: --discovery, --jwks-url or --spiffe-bundle-url')
}

/** The keys of an issuer: those that are given, or those that the process of the server that answered has fetched. */
export function knownKeys({ keys, fetchedKeys }: TrustedIssuer): readonly IssuerKey[] {
  if (keys?.source.case === 'jwks') return parseIssuerKeys(keys.source.value)
  const published = parsePublishedKeys(fetchedKeys?.jwks ?? '', 'jwks')
  return typeof published === 'string' ? [] : published
}

/** Where the keys of an issuer come from, in a few words. */
export function describeSource({ source }: Pick<IssuerKeys, 'source'>): string {
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

/** The `kid` of each key, or what stands for it. */
export function keyIdsOf(issuer: TrustedIssuer): string {
  const ids = knownKeys(issuer).map(({ kid }) => kid ?? '(without kid)')
  return ids.length === 0 ? '-' : ids.join(' ')
}

/** How fetching goes, as a sentence; empty for keys that are given. */
export function describeFetches(issuer: TrustedIssuer): string {
  const { fetchedKeys: fetched } = issuer
  if (fetched === undefined) return ''
  const last =
    fetched.fetchDate === undefined
      ? 'its keys have not been fetched yet'
      : `its keys (${keyIdsOf(issuer)}) were fetched ${ageOf(fetched.fetchDate)} ago`
  const failure =
    fetched.failure === '' ? '' : `; the last fetch failed ${ageOf(fetched.failureDate)} ago: ${fetched.failure}`
  return `${last}${failure}`
}

/** A private key is not sent, not even to be refused. */
async function readCertificates(file: string): Promise<string> {
  const text = await readTextFile(file)
  if (text.includes('PRIVATE KEY-----'))
    throw new Error(`${file} has a private key: nothing was sent; make a file with the certificates only`)
  return text
}

async function sourceFrom(options: KeyOptions) {
  const { keys, discovery, jwksUrl, spiffeBundleUrl } = options
  if (keys !== undefined) return { case: 'jwks', value: await readJwks(keys) } as const
  if (jwksUrl !== undefined) return { case: 'jwksUrl', value: jwksUrl } as const
  if (spiffeBundleUrl !== undefined) return { case: 'spiffeBundleUrl', value: spiffeBundleUrl } as const
  return discovery === undefined ? undefined : ({ case: 'discovery', value: create(OpenIdDiscoverySchema) } as const)
}
