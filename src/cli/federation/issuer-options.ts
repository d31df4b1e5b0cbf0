/**
 * Trusted issuers on the command line: how one is named, where its keys come from, and what is known of them.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  type IssuerKeys,
  type IssuerKeysSchema,
  OpenIdDiscoverySchema,
} from '../../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { TrustedIssuerService } from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { DEFAULT_MAX_LIFETIME_SECONDS, DEFAULT_MAX_STALENESS_SECONDS } from '../../domain/federation/trusted-issuer.ts'
import { ASSERTION_ALGORITHMS } from '../../domain/keys/assertion-algorithm.ts'
import { namedFields } from '../commands.ts'
import { certificatesFrom, readJwks } from '../files.ts'
import { named } from '../identities/references.ts'
import { alternatives, type Chosen, flag, option, parseHttpsUrl, wholeNumber } from '../options.ts'

export const ISSUER = named('trusted issuer', [TrustedIssuerService.method.listTrustedIssuers, 'trustedIssuers'], {
  nameAndId: ({ issuer, issuerId }) => [issuer, issuerId],
  lister: 'federation issuers list',
})

/** What commands may set of an issuer. A command takes one source of keys. */
export const ISSUER_OPTIONS = {
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
export async function keysFrom(
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
