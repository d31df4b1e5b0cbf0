/**
 * A configuration from the wire to the domain. What breaks a rule of the proto is a mistake of the configuration and no refusal of the call, so
 * that all of them can be told.
 */
import { create } from '@bufbuild/protobuf'
import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt'
import { createValidator } from '@bufbuild/protovalidate'
import { ConnectError } from '@connectrpc/connect'
import {
  ConfigurationSchema,
  type Configuration as WireConfiguration,
  type RotationPolicyConfiguration as WirePolicy,
  type ServiceUserConfiguration as WireServiceUser,
} from '../../../gen/iam/config/v2/configuration_pb.js'
import type { ConfigurationRequest, KeyParsers } from '../../app/configuration/configurations.ts'
import { readKeyOrigin } from '../../app/federation/trusted-issuers.ts'
import {
  type Configuration,
  MAX_CONFIGURED_USERS,
  type Mistake,
  Mistakes,
  type ServiceUserConfiguration,
} from '../../domain/configuration/configuration.ts'
import { DomainError } from '../../domain/errors.ts'
import { normalUri } from '../../domain/identifiers.ts'
import type { UserKey } from '../../domain/identities/credential.ts'
import { switchesOf } from '../../domain/identities/service-user.ts'
import { isAssertionAlgorithm } from '../../domain/keys/assertion-algorithm.ts'
import { DEFAULT_ROTATION_POLICY, type RotationPolicy } from '../../domain/keys/rotation-policy.ts'
import { toKeyOrigin } from '../federation/trusted-issuer-service.ts'
import { toMatch } from '../identities/credential-services.ts'
import { toInstanceRole, toMemberRole } from '../identities/service-user-mapping.ts'
import { toWebKeyConfig } from '../keys/web-key-mapping.ts'
import { toDate, toSeconds } from '../messages/fields.ts'

const NOTHING: Configuration = { projects: [], serviceUsers: [], trustedIssuers: [], rotationPolicy: null }

/** The most items of all lists together: ten for each of the most service users. */
const MAX_ITEMS = 50_000

const NO_HAND_OVER = 'only "keyturn apply" hands a client secret over, and the server none'

const validator = createValidator()

/** Reads a configuration, its keys and its certificates. With values that break a rule, nothing else of it is looked at. */
export function toConfiguration(
  wire: WireConfiguration = create(ConfigurationSchema),
  parsers: KeyParsers,
): ReturnType<ConfigurationRequest['read']> {
  const broken = violationsOf(wire)
  if (broken.length > 0) return { configuration: NOTHING, mistakes: broken }
  const reading = new Reading()
  const configuration = {
    projects: wire.projects.map(({ name, roles, scopes, audiences, rolesClaim }) => {
      return { name, roles, scopes, audiences: audiences.map(normalUri), rolesClaim }
    }),
    serviceUsers: wire.serviceUsers.map((user, index) => toUser(user, `serviceUsers[${index}]`, { reading, parsers })),
    trustedIssuers: wire.trustedIssuers.map(({ issuer, keys, algorithms, maxLifetimeSeconds = 0 }, index) => ({
      issuer,
      keys: reading.read(`trustedIssuers[${index}].keys`, () => readKeyOrigin(toKeyOrigin(keys), parsers)) ?? null,
      algorithms: algorithms.filter(isAssertionAlgorithm),
      maxLifetimeSeconds,
    })),
    rotationPolicy: wire.rotationPolicy === undefined ? null : toPolicy(wire.rotationPolicy, reading),
  }
  return { configuration, mistakes: reading.found }
}

/** Reads fields whose form the rules of the proto cannot say. */
class Reading extends Mistakes {
  /** Undefined: it cannot be read, which is a mistake. */
  read<T>(path: string, read: () => T): T | undefined {
    return this.checked(path, () => {
      try {
        return read()
      } catch (error) {
        if (!(error instanceof ConnectError)) throw error
        throw new DomainError('configuration_invalid', error.rawMessage.replace(/^[^:]*: /, ''))
      }
    })
  }

  date(path: string, timestamp: Timestamp | undefined): Date | null {
    return this.read(path, () => toDate(timestamp, path)) ?? null
  }

  seconds(path: string, duration: Duration | undefined): number | undefined {
    return duration && this.read(path, () => toSeconds(duration, path))
  }
}

/** Violations of the rules of the proto, and texts with NUL, which PostgreSQL cannot store. A configuration that is too large has this one mistake. */
function violationsOf(wire: WireConfiguration): readonly Mistake[] {
  const mistakes = new Mistakes()
  let items = 0
  for (const { path, value } of valuesIn(wire)) {
    const length = Array.isArray(value) ? value.length : 0
    items += length
    if (length > MAX_CONFIGURED_USERS) return [tooLarge(path, `${MAX_CONFIGURED_USERS} items in a list`)]
    if (items > MAX_ITEMS) return [tooLarge(path, `${MAX_ITEMS} values in all its lists`)]
    if (typeof value === 'string' && value.includes('\0'))
      mistakes.add(path, 'configuration_invalid', 'must not have a NUL character')
  }
  const { violations = [], error } = validator.validate(ConfigurationSchema, wire)
  if (error !== undefined && violations.length === 0) throw error
  for (const { field, message } of violations) {
    const path = field.map((element) => {
      if (element.kind === 'list_sub') return `[${element.index}]`
      if (element.kind === 'map_sub') return `[${element.key}]`
      return element.kind === 'oneof' ? '' : `.${element.jsonName}`
    })
    mistakes.add(path.join('').slice(1), 'configuration_invalid', message)
  }
  return mistakes.found
}

function tooLarge(path: string, limit: string): Mistake {
  const message = `a configuration has at most ${limit}: apply it in parts, with a label for each`
  return { path, message, code: 'configuration_too_large' }
}

/** Every value in a message, before what is in it. Its fields are called as in JSON. */
function* valuesIn(value: unknown, path = ''): Iterable<{ readonly path: string; readonly value: unknown }> {
  yield { path, value }
  if (typeof value !== 'object' || value === null) return
  // A oneof has no name in JSON. What is chosen has.
  if ('case' in value && 'value' in value) return yield* valuesIn(value.value, path.replace(/\w+$/, String(value.case)))
  for (const [name, member] of Object.entries(value))
    yield* valuesIn(member, Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`.replace(/^\./, ''))
}

function toUser(
  wire: WireServiceUser,
  path: string,
  { reading, parsers }: { readonly reading: Reading; readonly parsers: KeyParsers },
): ServiceUserConfiguration {
  const { project, name, projectRoles, scopes, tokenLifetime, tokenClaims } = wire
  const { enabled = true, clientCredentialsEnabled = true } = wire
  if (wire.generateSecret !== undefined) reading.add(`${path}.generateSecret`, 'configuration_invalid', NO_HAND_OVER)
  return {
    project,
    name,
    enabled,
    ...switchesOf({ ...wire, clientCredentialsEnabled }),
    projectRoles,
    managedProjects: wire.managedProjects.map((grant) => ({ project: grant.project, role: toMemberRole(grant.role) })),
    scopes,
    instanceRoles: wire.instanceRoles.map(toInstanceRole),
    publicKeys: wire.publicKeys.map(({ publicJwk: json, expirationDate }, index) => {
      const place = `${path}.publicKeys[${index}]`
      const expiresAt = reading.date(`${place}.expirationDate`, expirationDate)
      const publicJwk = reading.read(`${place}.publicJwk`, () => parseUserKey(json, parsers))
      return publicJwk === undefined ? null : { publicJwk, expiresAt }
    }),
    federatedIdentities: wire.federatedIdentities.map(({ issuer, subject, audience, claims }) => ({
      issuer,
      subject,
      audience: audience === '' ? null : audience,
      claims: claims.map(({ pointer, value }) => ({ pointer, value })),
    })),
    clientCertificates: wire.clientCertificates.map(({ match, expirationDate }, index) => ({
      ...toMatch(match),
      expiresAt: reading.date(`${path}.clientCertificates[${index}].expirationDate`, expirationDate),
    })),
    tokenLifetimeSeconds: reading.seconds(`${path}.tokenLifetime`, tokenLifetime) ?? null,
    tokenClaims,
  }
}

function parseUserKey(json: string, { parseUserKeys }: KeyParsers): UserKey['publicJwk'] {
  const [key, ...others] = parseUserKeys(json)
  if (key !== undefined && others.length === 0) return key
  throw new DomainError('user_key_invalid', 'it must be one JWK: write the keys of a JWK Set one by one')
}

function toPolicy(wire: WirePolicy, reading: Reading): RotationPolicy {
  const standard = DEFAULT_ROTATION_POLICY
  const seconds = (name: 'rotationInterval' | 'publishAhead' | 'retention' | 'rollbackWindow'): number =>
    reading.seconds(`rotationPolicy.${name}`, wire[name]) ?? standard[`${name}Seconds`]
  return {
    enabled: wire.enabled ?? standard.enabled,
    config: wire.config === undefined ? standard.config : toWebKeyConfig(wire.config),
    rotationIntervalSeconds: seconds('rotationInterval'),
    publishAheadSeconds: seconds('publishAhead'),
    retentionSeconds: seconds('retention'),
    rollbackWindowSeconds: seconds('rollbackWindow'),
    keepStandby: wire.keepStandby ?? standard.keepStandby,
  }
}
