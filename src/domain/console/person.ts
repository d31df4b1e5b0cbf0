/**
 * People who sign in at the console with an OpenID provider: who they are here, and with which role.
 *
 * A person is a service user without credentials (`settleChange`), made at the first sign-in, so that rights, the audit trail and the end of a right are the
 * same as for all others. The provider is asked again at each sign-in, and decides about the role.
 */
import { DomainError } from '../errors.ts'
import type { InstanceRole } from '../identities/permission.ts'
import { createServiceUser, type NewServiceUser, type ServiceUser } from '../identities/service-user.ts'

/** What an ID token says about a person (OpenID Connect Core §2), once it has been verified. */
export interface Person {
  readonly issuer: string
  readonly subject: string
  readonly claims: Readonly<Record<string, unknown>>
}

/**
 * Gives a role to the people with one of these values in a claim, which is a text or a list of texts. An `email` counts only if it is
 * verified: at some providers people write it themselves.
 */
export interface RoleRule {
  readonly role: InstanceRole
  readonly claim: string
  readonly values: readonly string[]
}

const MAX_NAME_LENGTH = 200

/** The claims that may name a person, the best first (OpenID Connect Core §5.1). */
const NAMES = ['name', 'preferred_username', 'email']

/** The roles of a person: all that rules give, or only the greatest one. Empty: no rule fits. */
export function rolesOf({ claims }: Pick<Person, 'claims'>, rules: readonly RoleRule[]): readonly InstanceRole[] {
  const given = rules
    .filter(({ claim }) => claim !== 'email' || claims.email_verified === true)
    .filter(({ claim, values }) => textsIn(claims, claim).some((text) => values.includes(text)))
  const roles = new Set(given.map(({ role }) => role))
  return roles.has('IAM_OWNER') ? ['IAM_OWNER'] : [...roles].sort()
}

export function nameOf({ claims, subject }: Pick<Person, 'claims' | 'subject'>): string {
  const names = [...NAMES.flatMap((claim) => textsIn(claims, claim)), subject].map((name) =>
    name
      // Neither control characters nor those that are not seen or turn the direction of what follows.
      .replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ')
      .trim()
      .slice(0, MAX_NAME_LENGTH)
      .toWellFormed(),
  )
  return names.find((name) => name !== '') ?? 'person'
}

/**
 * The user with the roles of today. Who has lost all of them loses those over projects too.
 *
 * @param before Undefined at the first sign-in.
 * @throws {DomainError} `sign_in_not_allowed` for a person without a role who has no user, and for a disabled user.
 */
export function planPerson(
  before: ServiceUser | undefined,
  {
    instanceRoles,
    ...facts
  }: Omit<NewServiceUser, 'clientCredentialsEnabled'> & { readonly instanceRoles: readonly InstanceRole[] },
  date: Date,
): ServiceUser {
  if (before === undefined && instanceRoles.length === 0) throw notAllowed()
  if (before?.enabled === false) throw notAllowed()
  const user = before ?? createServiceUser({ ...facts, clientCredentialsEnabled: false }, date)
  const managedProjects: ServiceUser['managedProjects'] = instanceRoles.length === 0 ? new Map() : user.managedProjects
  const isSame =
    user.name === facts.name &&
    user.instanceRoles.join() === instanceRoles.join() &&
    user.managedProjects.size === managedProjects.size
  if (before !== undefined && isSame) return before
  return { ...user, name: facts.name, instanceRoles, managedProjects }
}

export function notAllowed(): DomainError {
  return new DomainError('sign_in_not_allowed', 'you may not sign in here: ask an administrator of Keyturn for access')
}

function textsIn(claims: Person['claims'], name: string): string[] {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined
  return [value].flat().filter((text) => typeof text === 'string')
}
