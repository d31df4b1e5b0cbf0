/**
 * What an instance shall be like, as an administrator keeps it in files: resources by their names, and nothing by an id that the server made.
 *
 * A resource stands there as a whole. How an instance gets there is planned in `plan.ts`.
 */
import { DomainError, type DomainErrorCode } from '../errors.ts'
import type { IssuerKeys, TrustedIssuer } from '../federation/trusted-issuer.ts'
import type { ClientCertificate, FederatedIdentity, UserKey } from '../identities/credential.ts'
import type { ProjectMemberRole } from '../identities/permission.ts'
import type { Project } from '../identities/project.ts'
import type { ServiceUser, UserSwitches } from '../identities/service-user.ts'
import type { RotationPolicy } from '../keys/rotation-policy.ts'

export const DEFAULT_LABEL = 'default'

/** The most service users of a configuration, which are written under one lock. */
export const MAX_CONFIGURED_USERS = 5000

export const MAX_CONFIGURED_PROJECTS = 1000

export interface Configuration {
  readonly projects: readonly ProjectConfiguration[]
  readonly serviceUsers: readonly ServiceUserConfiguration[]
  readonly trustedIssuers: readonly TrustedIssuerConfiguration[]
  /** Null: it stays as it is. */
  readonly rotationPolicy: RotationPolicy | null
}

export type ProjectConfiguration = Pick<Project, 'name' | 'roles' | 'scopes' | 'audiences' | 'rolesClaim'>

export interface ServiceUserConfiguration
  extends UserSwitches,
    Pick<ServiceUser, 'name' | 'enabled' | 'instanceRoles' | 'tokenLifetimeSeconds'> {
  readonly project: string
  readonly projectRoles: readonly { readonly project: string; readonly roles: readonly string[] }[]
  readonly managedProjects: readonly { readonly project: string; readonly role: ProjectMemberRole }[]
  readonly scopes: readonly string[]
  /** Null: a key that cannot be read. */
  readonly publicKeys: readonly (Pick<UserKey, 'publicJwk' | 'expiresAt'> | null)[]
  /** Their trusted issuer is named by its `issuer`. */
  readonly federatedIdentities: readonly FederatedIdentityConfiguration[]
  /** The values as they were written. */
  readonly clientCertificates: readonly Pick<ClientCertificate, 'match' | 'value' | 'expiresAt'>[]
  /** A JSON object; empty: none. */
  readonly tokenClaims: string
}

type FederatedIdentityConfiguration = Pick<FederatedIdentity, 'subject' | 'audience' | 'claims'> &
  Pick<TrustedIssuer, 'issuer'>

/** A trusted issuer. Empty algorithms and a lifetime of 0 stand for the defaults. */
export interface TrustedIssuerConfiguration
  extends Pick<TrustedIssuer, 'issuer' | 'algorithms' | 'maxLifetimeSeconds'> {
  /** Null: keys that cannot be read. */
  readonly keys: IssuerKeys | null
}

export interface Mistake {
  /** In the JSON form of a configuration, for example `serviceUsers[3].publicKeys[0]`. Empty: the whole configuration. */
  readonly path: string
  readonly message: string
  /** Why, as a call that changes one resource would be refused. */
  readonly code: DomainErrorCode
}

export class Mistakes {
  readonly found: Mistake[] = []

  add(path: string, code: DomainErrorCode, message: string): void {
    this.found.push({ path, code, message })
  }

  /** What a rule returns; undefined if it refuses, which is a mistake. */
  checked<T>(path: string, rule: () => T): T | undefined {
    try {
      return rule()
    } catch (error) {
      if (!(error instanceof DomainError)) throw error
      this.add(path, error.code, error.message)
      return undefined
    }
  }
}

/** The refusal of a configuration with mistakes, with the first in its message. */
export class InvalidConfiguration extends DomainError {
  readonly mistakes: readonly Mistake[]

  constructor(mistakes: readonly Mistake[]) {
    const [first] = mistakes
    const count = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes, first`
    const place = first === undefined || first.path === '' ? '' : ` ${first.path}`
    super('configuration_invalid', `the configuration has ${count}${place}: ${first?.message}`, {
      metadata: { mistakes: String(mistakes.length) },
      fields: mistakes.map(({ path, message }) => ({ path, message })),
    })
    this.mistakes = mistakes
  }
}
