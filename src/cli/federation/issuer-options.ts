/**
 * What commands may set of a trusted issuer: where its keys come from, and the limits of its JWTs. And what is known of its keys.
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
import { DEFAULT_MAX_LIFETIME_SECONDS } from '../../domain/federation/trusted-issuer.ts'
import { ASSERTION_ALGORITHMS } from '../../domain/keys/assertion-algorithm.ts'
import { isSecretJwk } from '../../domain/keys/jwk-members.ts'
import { ageOf } from '../table.ts'
import { readTextFile } from '../text-file.ts'
import { parseKeysUrl, secondsBetween } from './option-values.ts'

/** Values of the options. */
export interface IssuerOptions {
  readonly keys?: string
  readonly discovery?: true
  readonly jwksUrl?: string
  readonly spiffeBundleUrl?: string
  /** False: the usual authorities. */
  readonly issuerCa?: string | false
  readonly maxStaleness?: number
  readonly algorithms?: string[]
  readonly maxLifetime?: number
}

const SOURCES = ['keys', 'discovery', 'jwksUrl', 'spiffeBundleUrl'] as const

/** The options. A command takes one source of keys. */
export function issuerOptions(): readonly Option[] {
  const sources = [
    new Option('--discovery', 'fetch the keys from where the OpenID discovery document of the issuer says'),
    new Option('--jwks-url <url>', 'fetch the keys from a JWK set').argParser(parseKeysUrl),
    new Option('--spiffe-bundle-url <url>', 'fetch the keys from the bundle of a SPIFFE trust domain').argParser(
      parseKeysUrl,
    ),
    new Option('--keys <file>', 'a file with the public keys of the issuer, as a JWK set: none are fetched'),
  ]
  for (const option of sources) option.conflicts(SOURCES.filter((source) => source !== option.attributeName()))
  return [
    ...sources,
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
    new Option('--algorithms <alg...>', 'the algorithms of its JWTs; a new issuer has all').choices(
      ASSERTION_ALGORITHMS,
    ),
    new Option(
      '--max-lifetime <seconds>',
      `the longest lifetime of its JWTs, 60 to 86400; a new issuer has ${DEFAULT_MAX_LIFETIME_SECONDS}`,
    ).argParser(secondsBetween(60, 86_400)),
  ]
}

/** Whether the options say anything about the keys. */
export function nameKeys(options: IssuerOptions): boolean {
  return ([...SOURCES, 'issuerCa', 'maxStaleness'] as const).some((name) => options[name] !== undefined)
}

/** The limits in a request. */
export function limitsFrom({ algorithms = [], maxLifetime }: IssuerOptions) {
  return { algorithms, ...(maxLifetime === undefined ? {} : { maxLifetimeSeconds: maxLifetime }) }
}

/**
 * The keys that the options say; undefined if they say nothing.
 *
 * @param current Where the keys come from now. What the options do not name stays.
 * @throws {Error} if they say how to fetch keys, and from where is said nowhere.
 */
export async function keysFrom(
  options: IssuerOptions,
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

async function sourceFrom({ keys, discovery, jwksUrl, spiffeBundleUrl }: IssuerOptions) {
  if (keys !== undefined) return { case: 'jwks', value: await readJwks(keys) } as const
  if (jwksUrl !== undefined) return { case: 'jwksUrl', value: jwksUrl } as const
  if (spiffeBundleUrl !== undefined) return { case: 'spiffeBundleUrl', value: spiffeBundleUrl } as const
  return discovery === undefined ? undefined : ({ case: 'discovery', value: create(OpenIdDiscoverySchema) } as const)
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

/** The JWK set in a file. @throws {Error} if it has none, or a private key, which is not sent, not even to be refused. */
async function readJwks(file: string): Promise<string> {
  const text = await readTextFile(file)
  const keys = keysIn(text)
  if (keys === undefined) throw new Error(`${file} is no JWK set (RFC 7517): it must be JSON with "keys"`)
  if (keys.some((key) => typeof key === 'object' && key !== null && isSecretJwk({ ...key }))) {
    throw new Error(`${file} has a private key: nothing was sent; make a file with the public keys only`)
  }
  return text
}

function keysIn(text: string): readonly unknown[] | undefined {
  try {
    const document: unknown = JSON.parse(text)
    const keys = typeof document === 'object' && document !== null && 'keys' in document ? document.keys : undefined
    return Array.isArray(keys) ? keys : undefined
  } catch {
    return undefined
  }
}
