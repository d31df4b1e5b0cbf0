/**
 * Random configurations without mistakes in themselves, of few names, so that two of them overlap.
 */
import fc from 'fast-check'
import type {
  Configuration,
  ProjectConfiguration,
  ServiceUserConfiguration,
  TrustedIssuerConfiguration,
} from '../../../../src/domain/configuration/configuration.ts'
import type { IssuerKeys } from '../../../../src/domain/federation/trusted-issuer.ts'
import type { UserKey } from '../../../../src/domain/identities/credential.ts'
import { ASSERTION_ALGORITHMS } from '../../../../src/domain/keys/assertion-algorithm.ts'
import { DEFAULT_ROTATION_POLICY } from '../../../../src/domain/keys/rotation-policy.ts'
import { NOW } from './planned-instance.ts'

const LATER = new Date(NOW.getTime() + 86_400_000)
const ISSUERS = ['https://ci.example.com', 'https://cluster.example.com', 'spiffe://example.org']
const BUNDLE = ['spiffe_bundle_url', 'https://spire.example.org'] as const
const PROJECTS = ['shop', 'bank', 'mill']

const expiry = fc.constantFrom(null, LATER)
const publicKey = fc.record({
  publicJwk: fc
    .record({ x: fc.constantFrom('a', 'b', 'c'), kid: fc.constantFrom(undefined, 'k1', 'k2') })
    .map(({ x, kid }): UserKey['publicJwk'] => ({
      kty: 'OKP',
      crv: 'Ed25519',
      x,
      ...(kid === undefined ? {} : { kid }),
    })),
  expiresAt: expiry,
})
const certificate = fc.record({
  match: fc.constantFrom('san_dns' as const, 'san_uri' as const),
  value: fc.constantFrom('urn:one', 'urn:two'),
  expiresAt: expiry,
})
const identity = fc.record({
  issuer: fc.constantFrom(...ISSUERS),
  subject: fc.constantFrom('one', 'two'),
  audience: fc.constantFrom(null, 'https://aud.example.com'),
  claims: fc.uniqueArray(fc.record({ pointer: fc.constantFrom('/a', '/b'), value: fc.constantFrom('x', 'y') }), {
    selector: ({ pointer }) => pointer,
  }),
})

const project = (name: string): fc.Arbitrary<ProjectConfiguration> =>
  fc.record({
    name: fc.constant(name),
    roles: fc.subarray(['reader', 'writer', 'admin']),
    scopes: fc.subarray(['a.read', 'a.write']),
    audiences: fc.subarray([`https://${name}.example.com`, `https://${name}.example.org`]),
    rolesClaim: fc.boolean(),
  })

function user(projects: readonly ProjectConfiguration[], name: string): fc.Arbitrary<ServiceUserConfiguration> {
  return fc.constantFrom(...projects).chain((own) =>
    fc.record({
      project: fc.constant(own.name),
      name: fc.constant(name),
      enabled: fc.boolean(),
      clientCredentialsEnabled: fc.boolean(),
      boundTokensRequired: fc.boolean(),
      certificateBoundTokens: fc.boolean(),
      instanceRoles: fc.subarray(['IAM_OWNER_VIEWER' as const]),
      tokenLifetimeSeconds: fc.constantFrom(null, 60, 300),
      tokenClaims: fc.constantFrom('', '{"team":"a","list":[1,2]}', '{"list":[1,2],"team":"a"}', '{"team":"b"}'),
      projectRoles: fc.tuple(
        ...projects.map(({ name: of, roles }) =>
          fc.record({ project: fc.constant(of), roles: fc.subarray([...roles]) }),
        ),
      ),
      managedProjects: fc.subarray(projects.map(({ name: of }) => ({ project: of, role: 'PROJECT_OWNER' as const }))),
      scopes: fc.subarray([...own.scopes]),
      publicKeys: fc.array(publicKey, { maxLength: 3 }),
      federatedIdentities: fc.array(identity, { maxLength: 3 }),
      clientCertificates: fc.uniqueArray(
        certificate.map((one) => (one.match === 'san_dns' ? { ...one, value: one.value.replace('urn:', '') } : one)),
        { maxLength: 3, selector: ({ match, value }) => `${match} ${value}` },
      ),
    }),
  )
}

const trustedIssuer = (issuer: string): fc.Arbitrary<TrustedIssuerConfiguration> =>
  fc.record({
    issuer: fc.constant(issuer),
    algorithms: fc.subarray([...ASSERTION_ALGORITHMS].slice(0, 3)),
    maxLifetimeSeconds: fc.constantFrom(0, 600),
    keys: fc.oneof(
      fc.subarray(['a', 'b'], { minLength: 1 }).map((all) => {
        return { kind: 'given' as const, keys: all.map((x) => ({ kty: 'OKP' as const, crv: 'Ed25519' as const, x })) }
      }),
      fc.constantFrom(60_000, 90_000).map((maxStalenessSeconds): IssuerKeys => {
        const [kind, url] = issuer.startsWith('spiffe') ? BUNDLE : (['discovery', null] as const)
        return { kind: 'fetched', source: { kind, url, caCertificates: null, maxStalenessSeconds } }
      }),
    ),
  })

/** A configuration with one project at least, and all trusted issuers. */
export const configurations: fc.Arbitrary<Configuration> = fc
  .subarray(PROJECTS, { minLength: 1 })
  .chain((names) => fc.tuple(...names.map(project)))
  .chain((projects) =>
    fc.record({
      projects: fc.constant(projects),
      serviceUsers: fc
        .subarray(['one', 'two', 'three'])
        .chain((names) => fc.tuple(...names.map((name) => user(projects, name)))),
      trustedIssuers: fc.tuple(...ISSUERS.map(trustedIssuer)),
      rotationPolicy: fc.constantFrom(null, DEFAULT_ROTATION_POLICY, { ...DEFAULT_ROTATION_POLICY, enabled: false }),
    }),
  )
