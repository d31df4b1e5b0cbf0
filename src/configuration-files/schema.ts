/**
 * The documents that a configuration is made of: their fields, what each may hold, and what it means. The JSON schema, the check of files and
 * the types are all made of this.
 *
 * Fields are those of `iam.config.v2`. Where files are shorter, `to-message.ts` says so.
 */
import type { DescEnum } from '@bufbuild/protobuf'
import { z } from 'zod'
import { ProjectMemberRoleSchema } from '../../gen/iam/project/v2/project_pb.js'
import { InstanceRoleSchema } from '../../gen/iam/user/v2/service_user_pb.js'
import { duration, exactlyOne, flag, jwk, jwks, listOf, projectName, text, time } from './fields.ts'
import { TARGET_PATTERN, targetRefusal } from './target-address.ts'

const CERTIFICATE_MATCHES = {
  subjectDn: text(500).optional().describe('The subject, a distinguished name (RFC 4514), such as CN=checkout,O=Shop.'),
  sanDns: text(253).optional().describe('A DNS name of the subject alternative name.'),
  sanUri: text(500).optional().describe('A URI of the subject alternative name, such as a SPIFFE ID.'),
  thumbprint: z
    .string()
    .regex(/^[A-Za-z0-9_-]{43}$/, 'it is a SHA-256 in base64url without padding: 43 characters')
    .optional()
    .describe('The SHA-256 of the certificate in DER, in base64url without padding.'),
}

const clientCertificate = exactlyOne(CERTIFICATE_MATCHES, Object.keys(CERTIFICATE_MATCHES), {
  expirationDate: time.describe('When it stops working. Without one it does not.'),
})

const federatedIdentity = z.strictObject({
  issuer: text(500).describe('The issuer of a trusted issuer.'),
  subject: text(500).describe('The sub of its JWTs.'),
  audience: text(500, 0).optional().describe('The one audience of its JWTs. Default: the issuer of Keyturn.'),
  claims: z
    .record(
      z
        .string()
        .regex(/^(\/([ -.0-}]|~[01])+)+$/, 'a claim is named by a JSON pointer (RFC 6901), such as /repository'),
      text(500),
    )
    .optional()
    .describe('Other claims that its JWTs must have: values by JSON pointer (RFC 6901), such as /repository.'),
})

const generateSecret = z.strictObject({
  into: z
    .string()
    .superRefine((into, context) => {
      const message = targetRefusal(into)
      if (message !== undefined) context.addIssue({ code: 'custom', message })
    })
    .meta({ pattern: TARGET_PATTERN })
    .describe(
      'Where "keyturn apply" hands a new client secret over, once: kubernetes://namespace/name, file:///path or command:program arguments.',
    ),
})

/** What the API knows, without the prefixes of its enums. */
const INSTANCE_ROLES = namesIn(InstanceRoleSchema)
const PROJECT_MEMBER_ROLES = namesIn(ProjectMemberRoleSchema)

function namesIn({ values }: DescEnum): string[] {
  return values.filter(({ number }) => number !== 0).map(({ localName }) => localName)
}

const project = z
  .strictObject({
    kind: z.literal('Project'),
    name: projectName.describe('Its name. Another name is another project.'),
    roles: listOf(
      z
        .string()
        .regex(/^[A-Za-z0-9._:-]{1,100}$/, 'a role has 1 to 100 letters, digits, dots, colons, dashes and underscores'),
      'Its roles. A role that is taken away is taken away from all users.',
    ),
    scopes: listOf(
      z
        .string()
        .regex(
          /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/,
          'a scope has 1 to 200 printable ASCII characters, without blanks, " and \\',
        ),
      'Its custom scopes. A scope that is taken away is taken away from all users.',
    ),
    audiences: listOf(
      z
        .string()
        .regex(
          /^[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9._~:/?@!$&'()*+,;=%[\]-]+$/,
          'an audience is an absolute URI without a fragment',
        )
        .max(200),
      'Its audiences: absolute URIs without a fragment.',
    ),
    rolesClaim: z
      .boolean()
      .optional()
      .describe('Whether tokens for it alone have the roles of the user in it as the claim roles too. Default: no.'),
  })
  .meta({ title: 'Project', description: 'A project with its roles, custom scopes and audiences.' })

const serviceUser = z
  .strictObject({
    kind: z.literal('ServiceUser'),
    project: projectName.describe('The name of its project.'),
    name: text(200).describe('Its name, of which the project has one. Another name is another user.'),
    enabled: flag('Whether it is enabled. Default: true.'),
    clientCredentialsEnabled: flag('Whether it may use the client credentials grant. Default: true.'),
    projectRoles: z
      .record(projectName, listOf(text(200), 'Roles of the project.').unwrap())
      .optional()
      .describe('Its roles in projects, by the name of the project, which its tokens carry.'),
    scopes: listOf(text(200), 'The custom scopes of its project that it may request.'),
    instanceRoles: listOf(z.enum(INSTANCE_ROLES), "Its roles over the instance, which are rights over Keyturn's API."),
    managedProjects: z
      .record(projectName, z.enum(PROJECT_MEMBER_ROLES))
      .optional()
      .describe("Its roles over projects by the name of the project, which are rights over Keyturn's API."),
    publicKeys: z.array(jwk).optional().describe('Its public keys, for private_key_jwt (RFC 7523).'),
    federatedIdentities: z
      .array(federatedIdentity)
      .optional()
      .describe('The JWTs of trusted issuers that it may prove itself with.'),
    clientCertificates: z
      .array(clientCertificate)
      .optional()
      .describe('The certificates that it may prove itself with (mutual TLS, RFC 8705).'),
    tokenLifetime: duration.describe(
      'How long its access tokens live. Default: KEYTURN_TOKEN_LIFETIME, which is also the limit.',
    ),
    tokenClaims: z
      .record(z.string(), z.json())
      .optional()
      .describe('Claims of its own, which each of its access tokens has.'),
    boundTokensRequired: flag(
      'Whether it gets only tokens that are bound to a key or to a client certificate. Default: false.',
    ),
    certificateBoundTokens: flag(
      'Whether its tokens are bound to the client certificate of the token request. Default: false.',
    ),
    generateSecret: generateSecret
      .optional()
      .describe('Hands a client secret over that is in no file of the configuration.'),
  })
  .meta({ title: 'ServiceUser', description: 'A service user: what it may do, and how it proves itself.' })

const url = z
  .string()
  .regex(/^https:\/\/[0-9A-Za-z._:[\]-]+([/?][!-"$-~]*)?$/, 'it is an https URL without a fragment')
  .max(1000)
  .optional()

const KEY_SOURCES = {
  discovery: z
    .strictObject({})
    .optional()
    .describe('They are fetched from where the discovery document of the issuer says: {}.'),
  jwksUrl: url.describe('They are fetched from this URL, a JWK Set.'),
  spiffeBundleUrl: url.describe('They are fetched from this URL, the bundle of a SPIFFE trust domain.'),
  jwks: jwks.optional().describe('They are these: a JWK Set (RFC 7517 §5).'),
}

const issuerKeys = exactlyOne(KEY_SOURCES, Object.keys(KEY_SOURCES), {
  caCertificates: z
    .string()
    .max(20_000)
    .optional()
    .describe('The certificates (PEM) of the authorities to trust when keys are fetched. Default: those of Node.js.'),
  maxStalenessSeconds: z
    .int()
    .min(600)
    .max(2_592_000)
    .optional()
    .describe('How long fetched keys are used while the issuer is away. Default: 86400.'),
})

const trustedIssuer = z
  .strictObject({
    kind: z.literal('TrustedIssuer'),
    issuer: z
      .string()
      .max(500)
      .regex(
        /^(https:\/\/[!-"$->A-~]+|http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?(\/[!-"$->A-~]*)?|spiffe:\/\/[a-z0-9._-]{1,255})$/,
        'it is an https URL (http on a loopback address), or spiffe:// and a trust domain',
      )
      .describe('The exact iss of its JWTs, or spiffe:// and a trust domain.'),
    keys: issuerKeys.describe('Where its public keys come from.'),
    algorithms: listOf(
      z
        .string()
        .regex(
          /^((RS|PS|ES)(256|384|512)|EdDSA|Ed25519)$/,
          'it is one of RS256 to RS512, PS256 to PS512, ES256 to ES512, EdDSA, Ed25519',
        ),
      'The algorithms that its JWTs may be signed with. Default: all of them.',
    ),
    maxLifetimeSeconds: z
      .int()
      .min(60)
      .max(86_400)
      .optional()
      .describe('The longest lifetime of its JWTs. Default: 3600.'),
  })
  .meta({ title: 'TrustedIssuer', description: 'An issuer whose JWTs can stand for service users.' })

const keyKind = exactlyOne(
  {
    rsa: z
      .strictObject({
        bits: z.enum(['RSA_BITS_2048', 'RSA_BITS_3072', 'RSA_BITS_4096']).optional(),
        hasher: z.enum(['RSA_HASHER_SHA256', 'RSA_HASHER_SHA384', 'RSA_HASHER_SHA512']).optional(),
      })
      .optional(),
    ecdsa: z.strictObject({ curve: z.enum(['ECDSA_CURVE_P256', 'ECDSA_CURVE_P384', 'ECDSA_CURVE_P521']) }).optional(),
    ed25519: z.strictObject({}).optional(),
  },
  ['rsa', 'ecdsa', 'ed25519'],
)

const rotationPolicy = z
  .strictObject({
    kind: z.literal('RotationPolicy'),
    enabled: flag('Whether keys rotate by themselves. Default: true.'),
    config: keyKind.optional().describe('The kind of key that is created. Default: RSA with 2048 bits and SHA256.'),
    rotationInterval: duration.describe('How long a key signs. Default: 90d.'),
    publishAhead: duration.describe('How long a key is published before it signs. Default: 7d.'),
    retention: duration.describe('How long an inactive key stays published. Default: 7d.'),
    rollbackWindow: duration.describe('How long an inactive key can be activated again. Default: 7d.'),
    keepStandby: flag('Whether the next key is published soon after a rotation. Default: true.'),
  })
  .meta({ title: 'RotationPolicy', description: 'How the keys that sign tokens rotate. An instance has one.' })

/** A document of a file. */
export const configurationDocument = z.discriminatedUnion('kind', [project, serviceUser, trustedIssuer, rotationPolicy])

/** A document that is valid. */
export type ConfigurationDocument = z.infer<typeof configurationDocument>

/** What a kind of document is. */
export type DocumentOf<Kind extends ConfigurationDocument['kind']> = Extract<ConfigurationDocument, { kind: Kind }>
