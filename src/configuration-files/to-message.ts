/**
 * Documents of files as the message that the server gets.
 *
 * Files have the JSON form of the message, and are shorter where that is for programs: roles and claims are objects, keys and claims are not
 * JSON in a string, the match of a certificate stands beside its date, lengths of time have units, instance roles no prefix.
 */
import { fromJson, type JsonObject, type JsonValue } from '@bufbuild/protobuf'
import { type Configuration, ConfigurationSchema } from '../../gen/iam/config/v2/configuration_pb.js'
import { publicMembersOf } from '../domain/keys/jwk-members.ts'
import type { ConfigurationDocument, DocumentOf } from './schema.ts'

/** The field of the message with the documents of a kind. */
export const LISTS = {
  Project: 'projects',
  ServiceUser: 'serviceUsers',
  TrustedIssuer: 'trustedIssuers',
  RotationPolicy: 'rotationPolicy',
} as const satisfies Record<ConfigurationDocument['kind'], string>

/** The prefixes of the API's enums. */
export const INSTANCE_ROLE_PREFIX = 'INSTANCE_ROLE_'
export const MEMBER_ROLE_PREFIX = 'PROJECT_MEMBER_ROLE_'

const SECONDS: Readonly<Record<string, number>> = { d: 86_400, h: 3600, m: 60, s: 1 }

/** The message with all of them, in their order. */
export function configurationOf(documents: readonly ConfigurationDocument[]): Configuration {
  const ofKind = <Kind extends ConfigurationDocument['kind']>(kind: Kind) =>
    documents.filter((document): document is DocumentOf<Kind> => document.kind === kind)
  const [policy] = ofKind('RotationPolicy')
  return fromJson(ConfigurationSchema, {
    projects: ofKind('Project').map(({ kind: _, ...project }) => json(project)),
    serviceUsers: ofKind('ServiceUser').map(serviceUser),
    trustedIssuers: ofKind('TrustedIssuer').map(trustedIssuer),
    ...(policy === undefined ? {} : { rotationPolicy: rotationPolicy(policy) }),
  })
}

function serviceUser(document: DocumentOf<'ServiceUser'>): JsonObject {
  const { kind: _, generateSecret: __, projectRoles, instanceRoles, managedProjects, ...rest } = document
  const { publicKeys, federatedIdentities, clientCertificates, tokenLifetime, tokenClaims, ...plain } = rest
  return json({
    ...plain,
    projectRoles: Object.entries(projectRoles ?? {}).map(([project, roles]) => ({ project, roles })),
    instanceRoles: instanceRoles?.map((role) => `${INSTANCE_ROLE_PREFIX}${role}`),
    managedProjects: Object.entries(managedProjects ?? {}).map(([project, role]) => ({
      project,
      role: `${MEMBER_ROLE_PREFIX}${role}`,
    })),
    publicKeys: publicKeys?.map(({ expirationDate, ...jwk }) => ({
      publicJwk: JSON.stringify(publicMembersOf(jwk)),
      expirationDate,
    })),
    federatedIdentities: federatedIdentities?.map(({ claims, ...identity }) => ({
      ...identity,
      claims: Object.entries(claims ?? {}).map(([pointer, value]) => ({ pointer, value })),
    })),
    clientCertificates: clientCertificates?.map(({ expirationDate, ...match }) => ({ match, expirationDate })),
    tokenLifetime: seconds(tokenLifetime),
    tokenClaims: tokenClaims === undefined ? undefined : JSON.stringify(tokenClaims),
  })
}

function trustedIssuer({ kind: _, keys, ...rest }: DocumentOf<'TrustedIssuer'>): JsonObject {
  const { jwks, ...others } = keys
  return json({ ...rest, keys: { ...others, jwks: jwks === undefined ? undefined : JSON.stringify(jwks) } })
}

function rotationPolicy({ kind: _, ...rest }: DocumentOf<'RotationPolicy'>): JsonObject {
  const { rotationInterval, publishAhead, retention, rollbackWindow, ...plain } = rest
  return json({
    ...plain,
    rotationInterval: seconds(rotationInterval),
    publishAhead: seconds(publishAhead),
    retention: seconds(retention),
    rollbackWindow: seconds(rollbackWindow),
  })
}

/** As the JSON of `google.protobuf.Duration`. */
function seconds(duration: string | undefined): string | undefined {
  if (duration === undefined) return undefined
  return `${Number(duration.slice(0, -1)) * (SECONDS[duration.slice(-1)] ?? 1)}s`
}

/** Without members that are undefined, which JSON does not have. */
function json(value: object): JsonObject {
  return withoutUndefined(value) as JsonObject
}

function withoutUndefined(value: unknown): JsonValue {
  if (Array.isArray(value)) return value.map(withoutUndefined)
  if (typeof value !== 'object' || value === null) return value as JsonValue
  const entries = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(entries.map(([key, member]) => [key, withoutUndefined(member)]))
}
