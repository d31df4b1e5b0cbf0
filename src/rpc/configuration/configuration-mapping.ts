/**
 * A configuration from the wire to the domain. What breaks a rule of the proto is a mistake of the configuration and no refusal of the call, so
 * that all of them can be told.
 */
import { create, type DescMessage, type Message } from '@bufbuild/protobuf'
import { reflect } from '@bufbuild/protobuf/reflect'
import type { Duration } from '@bufbuild/protobuf/wkt'
import { createValidator } from '@bufbuild/protovalidate'
import { ConnectError } from '@connectrpc/connect'
import {
  ConfigurationSchema,
  type Configuration as WireConfiguration,
  type RotationPolicyConfiguration as WirePolicy,
  type ServiceUserConfiguration as WireServiceUser,
  type TrustedIssuerConfiguration as WireTrustedIssuer,
} from '../../../gen/iam/config/v2/configuration_pb.js'
import type {
  ConfigurationText,
  ServiceUserText,
  TrustedIssuerText,
} from '../../app/configuration/configuration-text.ts'
import type { Mistake } from '../../domain/configuration/configuration.ts'
import { MAX_CONFIGURED_USERS } from '../../domain/configuration/configuration.ts'
import { normalUri } from '../../domain/identifiers.ts'
import { switchesOf } from '../../domain/identities/service-user.ts'
import { isAssertionAlgorithm } from '../../domain/keys/assertion-algorithm.ts'
import { DEFAULT_ROTATION_POLICY, type RotationPolicy } from '../../domain/keys/rotation-policy.ts'
import { toKeyOrigin } from '../federation/trusted-issuer-service.ts'
import { toMatch } from '../identities/credential-services.ts'
import { toMemberRole } from '../identities/project-member-mapping.ts'
import { toInstanceRole } from '../identities/service-user-mapping.ts'
import { toWebKeyConfig } from '../keys/web-key-mapping.ts'
import { toDate, toSeconds } from '../messages/fields.ts'

/** A configuration, as far as it can be read, and the mistakes in it. */
interface ReadConfiguration {
  readonly configuration: ConfigurationText
  readonly mistakes: readonly Mistake[]
}

const NOTHING: ConfigurationText = { projects: [], serviceUsers: [], trustedIssuers: [], rotationPolicy: null }

/** The most items of one list. No list may be longer than that of the service users. */
const MAX_ITEMS = MAX_CONFIGURED_USERS

/** The most values of all lists together: ten for each of the most service users. */
const MAX_VALUES = 50_000

const NO_HAND_OVER = 'only "keyturn apply" hands a client secret over, and the server none'

const validator = createValidator()

/** Reads a configuration. With values that break a rule, nothing else of it is looked at. */
export function toConfigurationText(wire: WireConfiguration = create(ConfigurationSchema)): ReadConfiguration {
  const oversized = oversizedIn(ConfigurationSchema, wire)
  if (oversized.length > 0) return { configuration: NOTHING, mistakes: oversized }
  const violations = [...violationsOf(wire), ...nulsOf(ConfigurationSchema, wire, '')]
  if (violations.length > 0) return { configuration: NOTHING, mistakes: violations }
  const reading = new Reading()
  const configuration = {
    projects: wire.projects.map(({ name, roles, scopes, audiences, rolesClaim }) => {
      return { name, roles, scopes, audiences: audiences.map(normalUri), rolesClaim }
    }),
    serviceUsers: wire.serviceUsers.map((user, index) => toUser(user, `serviceUsers[${index}]`, reading)),
    trustedIssuers: wire.trustedIssuers.map((issuer, index) => toIssuer(issuer, `trustedIssuers[${index}]`, reading)),
    rotationPolicy: wire.rotationPolicy === undefined ? null : toPolicy(wire.rotationPolicy, reading),
  }
  return { configuration, mistakes: reading.mistakes }
}

/** Reads fields whose form the rules of the proto cannot say. */
class Reading {
  readonly mistakes: Mistake[] = []

  read<T>(path: string, read: () => T, fallback: T): T {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error
      this.mistakes.push(mistakeAt(path, error.rawMessage.replace(/^[^:]*: /, '')))
      return fallback
    }
  }
}

function mistakeAt(path: string, message: string): Mistake {
  return { path, message, code: 'configuration_invalid' }
}

function violationsOf(wire: WireConfiguration): readonly Mistake[] {
  const { violations = [], error } = validator.validate(ConfigurationSchema, wire)
  if (error !== undefined && violations.length === 0) throw error
  return violations.map(({ field, message }) => {
    const path = field.map((element) => {
      if (element.kind === 'list_sub') return `[${element.index}]`
      if (element.kind === 'map_sub') return `[${element.key}]`
      return element.kind === 'oneof' ? '' : `.${element.jsonName}`
    })
    return mistakeAt(path.join('').replace(/^\./, ''), message)
  })
}

/**
 * The first list that is too long, found before anything is looked at: a message of 4 MiB can have hundreds of thousands of values, and each would
 * be a mistake of its own.
 */
function oversizedIn(type: DescMessage, message: Message): readonly Mistake[] {
  const size = { values: 0 }
  const path = longListIn(type, message, size)
  if (path === undefined) return []
  const limit = size.values > MAX_VALUES ? `${MAX_VALUES} values in all its lists` : `${MAX_ITEMS} items in a list`
  const text = `a configuration has at most ${limit}: apply it in parts, with a label for each`
  return [{ path, message: text, code: 'configuration_too_large' }]
}

function longListIn(type: DescMessage, message: Message, size: { values: number }): string | undefined {
  const reflected = reflect(type, message)
  for (const field of type.fields) {
    if (field.fieldKind !== 'list') continue
    const list = reflected.get(field)
    size.values += list.size
    if (list.size > MAX_ITEMS || size.values > MAX_VALUES) return field.jsonName
    if (field.listKind !== 'message') continue
    for (const [index, item] of [...list].entries()) {
      const below = longListIn(field.message, (item as { message: Message }).message, size)
      if (below !== undefined) return `${field.jsonName}[${index}].${below}`
    }
  }
  return undefined
}

/** PostgreSQL cannot store it. */
function nulsOf(type: DescMessage, message: Message, path: string): readonly Mistake[] {
  const reflected = reflect(type, message)
  const inside = (value: unknown, place: string, inner: DescMessage | undefined): readonly Mistake[] => {
    if (typeof value === 'string')
      return value.includes('\0') ? [mistakeAt(place, 'must not have a NUL character')] : []
    return inner === undefined ? [] : nulsOf(inner, (value as { readonly message: Message }).message, place)
  }
  return type.fields.flatMap((field) => {
    const place = path === '' ? field.jsonName : `${path}.${field.jsonName}`
    if (!reflected.isSet(field)) return []
    if (field.fieldKind === 'list') {
      return [...reflected.get(field)].flatMap((item, index) => inside(item, `${place}[${index}]`, field.message))
    }
    return inside(reflected.get(field), place, field.message)
  })
}

function toUser(wire: WireServiceUser, path: string, reading: Reading): ServiceUserText {
  const { project, name, projectRoles, scopes, tokenLifetime, tokenClaims } = wire
  const { enabled = true, clientCredentialsEnabled = true } = wire
  const dateOf = (expirationDate: Parameters<typeof toDate>[0], place: string): Date | null =>
    reading.read(`${place}.expirationDate`, () => toDate(expirationDate, 'expiration_date'), null)
  if (wire.generateSecret !== undefined) reading.mistakes.push(mistakeAt(`${path}.generateSecret`, NO_HAND_OVER))
  return {
    project,
    name,
    enabled,
    ...switchesOf({ ...wire, clientCredentialsEnabled }),
    projectRoles: projectRoles.map((grant) => ({ project: grant.project, roles: grant.roles })),
    managedProjects: wire.managedProjects.map((grant) => ({ project: grant.project, role: toMemberRole(grant.role) })),
    scopes,
    instanceRoles: wire.instanceRoles.map(toInstanceRole),
    publicKeys: wire.publicKeys.map(({ publicJwk: json, expirationDate }, index) => ({
      json,
      expiresAt: dateOf(expirationDate, `${path}.publicKeys[${index}]`),
    })),
    federatedIdentities: wire.federatedIdentities.map(({ issuer, subject, audience, claims }) => ({
      issuer,
      subject,
      audience: audience === '' ? null : audience,
      claims: claims.map(({ pointer, value }) => ({ pointer, value })),
    })),
    clientCertificates: wire.clientCertificates.map(({ match, expirationDate }, index) => ({
      ...toMatch(match),
      expiresAt: dateOf(expirationDate, `${path}.clientCertificates[${index}]`),
    })),
    tokenLifetimeSeconds: secondsOf(tokenLifetime, `${path}.tokenLifetime`, { reading, fallback: null }),
    tokenClaims,
  }
}

function toIssuer(wire: WireTrustedIssuer, path: string, reading: Reading): TrustedIssuerText {
  const { issuer, keys, algorithms, maxLifetimeSeconds = 0 } = wire
  return {
    issuer,
    keys: reading.read(`${path}.keys`, () => toKeyOrigin(keys), null),
    algorithms: algorithms.filter(isAssertionAlgorithm),
    maxLifetimeSeconds,
  }
}

function toPolicy(wire: WirePolicy, reading: Reading): RotationPolicy {
  const standard = DEFAULT_ROTATION_POLICY
  const seconds = (duration: Duration | undefined, name: string, fallback: number): number =>
    secondsOf(duration, `rotationPolicy.${name}`, { reading, fallback })
  return {
    enabled: wire.enabled ?? standard.enabled,
    config: wire.config === undefined ? standard.config : toWebKeyConfig(wire.config),
    rotationIntervalSeconds: seconds(wire.rotationInterval, 'rotationInterval', standard.rotationIntervalSeconds),
    publishAheadSeconds: seconds(wire.publishAhead, 'publishAhead', standard.publishAheadSeconds),
    retentionSeconds: seconds(wire.retention, 'retention', standard.retentionSeconds),
    rollbackWindowSeconds: seconds(wire.rollbackWindow, 'rollbackWindow', standard.rollbackWindowSeconds),
    keepStandby: wire.keepStandby ?? standard.keepStandby,
  }
}

function secondsOf<T>(
  duration: Duration | undefined,
  path: string,
  { reading, fallback }: { readonly reading: Reading; readonly fallback: T },
): number | T {
  return duration === undefined ? fallback : reading.read<number | T>(path, () => toSeconds(duration, path), fallback)
}
