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
import { toInstanceRole, toMemberRole } from '../identities/service-user-mapping.ts'
import { toWebKeyConfig } from '../keys/web-key-mapping.ts'
import { toDate, toSeconds } from '../messages/fields.ts'

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
  const unfit = unfitIn(wire)
  const isTooLarge = unfit.some(({ code }) => code === 'configuration_too_large')
  const broken = isTooLarge ? unfit : [...violationsOf(wire), ...unfit]
  if (broken.length > 0) return { configuration: NOTHING, mistakes: broken }
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
 * What no configuration may have, found before anything is looked at: a list that is too long, which is told alone, since each value of it would be a
 * mistake of its own; NUL in texts, which PostgreSQL cannot store.
 */
function unfitIn(wire: WireConfiguration): readonly Mistake[] {
  const mistakes: Mistake[] = []
  let values = 0
  for (const { path, size = 0, text = '' } of partsOf(ConfigurationSchema, wire)) {
    values += size
    if (values > MAX_VALUES) return [tooLarge(path, `${MAX_VALUES} values in all its lists`)]
    if (size > MAX_ITEMS) return [tooLarge(path, `${MAX_ITEMS} items in a list`)]
    if (text.includes('\0')) mistakes.push(mistakeAt(path, 'must not have a NUL character'))
  }
  return mistakes
}

function tooLarge(path: string, limit: string): Mistake {
  const message = `a configuration has at most ${limit}: apply it in parts, with a label for each`
  return { path, message, code: 'configuration_too_large' }
}

/** Every list in a message, before what is in it, and every text. */
function* partsOf(
  type: DescMessage,
  message: Message,
  prefix = '',
): Iterable<{ readonly path: string; readonly size?: number; readonly text?: string }> {
  const reflected = reflect(type, message)
  for (const field of type.fields.filter((each) => reflected.isSet(each))) {
    const path = prefix + field.jsonName
    let values: [path: string, value: unknown][] = [[path, reflected.get(field)]]
    if (field.fieldKind === 'list') {
      const list = reflected.get(field)
      yield { path, size: list.size }
      values = [...list].map((item, index) => [`${path}[${index}]`, item])
    }
    for (const [place, value] of values) {
      if (typeof value === 'string') yield { path: place, text: value }
      else if (field.message) yield* partsOf(field.message, (value as { message: Message }).message, `${place}.`)
    }
  }
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
