/**
 * A configuration as the documents of files, the other way round than `to-message.ts`: what has its default is left out.
 */
import { type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf'
import { type Configuration, ConfigurationSchema } from '../../gen/iam/config/v2/configuration_pb.js'
import { INSTANCE_ROLE_PREFIX, MEMBER_ROLE_PREFIX } from './to-message.ts'

/** In the order in which people read them: the rotation policy, trusted issuers, and each project with its users. */
export function documentsFrom(configuration: Configuration): JsonObject[] {
  const {
    projects = [],
    serviceUsers = [],
    trustedIssuers = [],
    rotationPolicy,
  } = toJson(ConfigurationSchema, configuration) as Lists
  const names = [
    ...new Set([...projects, ...serviceUsers.map(({ project }) => ({ name: project }))].map(({ name }) => name)),
  ]
  return [
    ...(rotationPolicy === undefined ? [] : [policyDocument(rotationPolicy)]),
    ...trustedIssuers.map(issuerDocument),
    ...names.flatMap((name) => [
      ...projects.filter((project) => project.name === name).map((project) => ({ kind: 'Project', ...project })),
      ...serviceUsers.filter(({ project }) => project === name).map(userDocument),
    ]),
  ]
}

interface Lists {
  readonly projects?: readonly JsonObject[]
  readonly serviceUsers?: readonly JsonObject[]
  readonly trustedIssuers?: readonly JsonObject[]
  readonly rotationPolicy?: JsonObject
}

function userDocument(user: JsonObject): JsonObject {
  const {
    project = '',
    name = '',
    enabled,
    clientCredentialsEnabled,
    projectRoles,
    scopes,
    instanceRoles,
    ...rest
  } = user
  const { managedProjects, publicKeys, federatedIdentities, clientCertificates, tokenLifetime, tokenClaims, ...plain } =
    rest
  return present({
    kind: 'ServiceUser',
    project,
    name,
    enabled: enabled === false ? false : undefined,
    clientCredentialsEnabled: clientCredentialsEnabled === false ? false : undefined,
    projectRoles: objectOf(projectRoles, 'project', ({ roles }) => roles ?? []),
    scopes,
    instanceRoles: listOf<string>(instanceRoles)?.map((role) => role.replace(INSTANCE_ROLE_PREFIX, '')),
    managedProjects: objectOf(managedProjects, 'project', ({ role }) => String(role).replace(MEMBER_ROLE_PREFIX, '')),
    publicKeys: listOf<JsonObject>(publicKeys)?.map(({ publicJwk, expirationDate }) =>
      present({ ...parsed(publicJwk), expirationDate }),
    ),
    federatedIdentities: listOf<JsonObject>(federatedIdentities)?.map(({ claims, ...identity }) =>
      present({ ...identity, claims: objectOf(claims, 'pointer', ({ value }) => value) }),
    ),
    clientCertificates: listOf<JsonObject>(clientCertificates)?.map(({ match, expirationDate }) =>
      present({ ...(match as JsonObject), expirationDate }),
    ),
    tokenLifetime: duration(tokenLifetime),
    tokenClaims: tokenClaims === undefined ? undefined : parsed(tokenClaims),
    ...plain,
  })
}

function issuerDocument({ issuer = '', keys = {}, ...rest }: JsonObject): JsonObject {
  const { jwks, ...others } = keys as JsonObject
  const source = jwks === undefined ? others : { jwks: parsed(jwks), ...others }
  return { kind: 'TrustedIssuer', issuer, keys: source, ...rest }
}

function policyDocument(policy: JsonObject): JsonObject {
  const { rotationInterval, publishAhead, retention, rollbackWindow, keepStandby, ...plain } = policy
  return present({
    kind: 'RotationPolicy',
    ...plain,
    rotationInterval: duration(rotationInterval),
    publishAhead: duration(publishAhead),
    retention: duration(retention),
    rollbackWindow: duration(rollbackWindow),
    keepStandby,
  })
}

/** In the largest unit that it is a multiple of. */
function duration(seconds: JsonValue | undefined): string | undefined {
  if (seconds === undefined) return undefined
  const count = Number(String(seconds).slice(0, -1))
  for (const [unit, size] of [
    ['d', 86_400],
    ['h', 3600],
    ['m', 60],
  ] as const) {
    if (count > 0 && count % size === 0) return `${count / size}${unit}`
  }
  return `${count}s`
}

function listOf<Item extends JsonValue>(value: JsonValue | undefined): readonly Item[] | undefined {
  return value as readonly Item[] | undefined
}

function objectOf(
  items: JsonValue | undefined,
  key: string,
  itemValue: (item: JsonObject) => JsonValue | undefined,
): JsonObject | undefined {
  return (items &&
    present(
      Object.fromEntries(listOf<JsonObject>(items)?.map((item) => [String(item[key]), itemValue(item)]) ?? []),
    )) as JsonObject | undefined
}

function parsed(text: JsonValue | undefined): JsonObject {
  return JSON.parse(String(text))
}

function present(members: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as JsonObject
}
