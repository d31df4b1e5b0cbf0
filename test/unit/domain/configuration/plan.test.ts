/**
 * Rules of plans that random configurations do not reach: dates, owners, and what moves from one resource to another.
 */
import { describe, expect, it } from '@jest/globals'
import {
  type Configuration,
  InvalidConfiguration,
  type Mistake,
  type ServiceUserConfiguration,
} from '../../../../src/domain/configuration/configuration.ts'
import type { ConfiguredState, PlanOptions } from '../../../../src/domain/configuration/plan.ts'
import { DEFAULT_ROTATION_POLICY } from '../../../../src/domain/keys/rotation-policy.ts'
import { after } from '../../../../src/domain/time.ts'
import { afterPlan, EMPTY, NOW, planOf } from './planned-instance.ts'

const SHOP = { name: 'shop', roles: ['reader'], scopes: [], audiences: [], rolesClaim: false }

const ROBOT: ServiceUserConfiguration = {
  project: 'shop',
  name: 'robot',
  enabled: true,
  clientCredentialsEnabled: true,
  boundTokensRequired: false,
  certificateBoundTokens: false,
  instanceRoles: [],
  tokenLifetimeSeconds: null,
  tokenClaims: '',
  projectRoles: [],
  managedProjects: [],
  scopes: [],
  publicKeys: [],
  federatedIdentities: [],
  clientCertificates: [],
}

const publicKey = (x: string, expiresAt: Date | null) => ({
  publicJwk: { kty: 'OKP', crv: 'Ed25519', x } as const,
  expiresAt,
})

function withUsers(...serviceUsers: readonly ServiceUserConfiguration[]): Configuration {
  return { projects: [SHOP], serviceUsers, trustedIssuers: [], rotationPolicy: null }
}

function applied(configuration: Configuration, state = EMPTY): ConfiguredState {
  return afterPlan(state, planOf(configuration, state))
}

/** The differences, as `field: before > after`. */
function linesOf(configuration: Configuration, state: ConfiguredState, options: Partial<PlanOptions> = {}): string[] {
  return planOf(configuration, state, options).changes.flatMap(({ fields }) =>
    fields.map(({ field, before, after: next }) => `${field}: ${before} > ${next}`),
  )
}

/** The mistakes, as `path code`. */
function refusalOf(plan: () => unknown): string[] {
  try {
    plan()
  } catch (error) {
    if (error instanceof InvalidConfiguration) return error.mistakes.map(({ path, code }) => `${path} ${code}`)
    throw error
  }
  return []
}

describe('a key that has expired', () => {
  const soon = after(NOW, 60)
  const state = applied(withUsers({ ...ROBOT, publicKeys: [publicKey('a', soon)] }))
  const later = { moment: { clock: after(NOW, 120), date: after(NOW, 120) } }

  it('makes no difference, whether the configuration has it or not', () => {
    expect(linesOf(withUsers({ ...ROBOT, publicKeys: [publicKey('a', soon)] }), state, later)).toEqual([])
    expect(linesOf(withUsers(ROBOT), state, later)).toEqual([])
  })

  it('makes room for another one', () => {
    const lines = linesOf(withUsers({ ...ROBOT, publicKeys: [publicKey('b', null)] }), state, later)
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(/^publicKeys: .*"a".*until .* > $/)
  })

  it('is taken away while it works', () => {
    expect(linesOf(withUsers(ROBOT), state)).toHaveLength(1)
  })

  it('is not added', () => {
    const configuration = withUsers({ ...ROBOT, publicKeys: [publicKey('b', soon)] })
    expect(refusalOf(() => planOf(configuration, state, later))).toEqual([
      'serviceUsers[0].publicKeys[0] expiration_in_past',
    ])
  })
})

describe('what the user has already', () => {
  it('is not refused for a limit that was lowered later, or claims that were reserved later', () => {
    const configuration = withUsers({ ...ROBOT, tokenLifetimeSeconds: 3000, tokenClaims: '{"team":"shop"}' })
    const state = applied(configuration)
    const claims = { ...state.users[0]!, tokenClaims: { email: 'shop@example.com' } }
    const reserved = { ...state, users: [claims] }
    const limits = { jwksMaxAgeSeconds: 300, tokenLifetimeSeconds: 600, maxStalenessSeconds: 60, maxWebKeys: 50 }
    expect(linesOf(configuration, state, { limits })).toEqual([])
    const same = withUsers({ ...ROBOT, tokenLifetimeSeconds: 3000, tokenClaims: '{"email":"shop@example.com"}' })
    expect(linesOf(same, reserved)).toEqual([])
    expect(refusalOf(() => planOf(same, state))).toEqual(['serviceUsers[0].tokenClaims token_claims_invalid'])
    const longer = withUsers({ ...ROBOT, tokenLifetimeSeconds: 3001 })
    expect(refusalOf(() => planOf(longer, state, { limits }))).toEqual([
      'serviceUsers[0].tokenLifetime token_lifetime_invalid',
    ])
  })
})

describe('a mistake that others would follow from', () => {
  const mistakesOf = (configuration: Configuration, known: readonly Mistake[] = []) =>
    refusalOf(() => planOf(configuration, EMPTY, { known }))
  const issuer = 'https://ci.example'
  const identity = { issuer, subject: 'a', audience: null, claims: [] }

  it('of the keys of a trusted issuer is the only one', () => {
    const configuration = {
      ...withUsers({ ...ROBOT, federatedIdentities: [identity] }),
      trustedIssuers: [{ issuer, keys: null, algorithms: [], maxLifetimeSeconds: 0 }],
    }
    const known = { path: 'trustedIssuers[0].keys', code: 'trusted_issuer_invalid', message: 'no key' } as const
    expect(mistakesOf(configuration, [known])).toEqual(['trustedIssuers[0].keys trusted_issuer_invalid'])
    expect(mistakesOf({ ...configuration, trustedIssuers: [] })).toEqual([
      'serviceUsers[0].federatedIdentities[0].issuer trusted_issuer_not_found',
    ])
  })

  it('of a scope of a project is the only one', () => {
    const configuration = {
      ...withUsers({ ...ROBOT, scopes: ['openid', 'orders'] }),
      projects: [{ ...SHOP, scopes: ['openid'] }],
    }
    expect(mistakesOf(configuration)).toEqual([
      'projects[0].scopes[0] scope_reserved',
      'serviceUsers[0].scopes[1] project_scope_not_found',
    ])
  })

  it('of a role of a project is the only one', () => {
    const roles = Array.from({ length: 1001 }, (_, index) => `role-${index}`)
    const configuration = {
      ...withUsers({ ...ROBOT, projectRoles: [{ project: 'shop', roles: [...roles.slice(-1), 'missing'] }] }),
      projects: [{ ...SHOP, roles }],
    }
    expect(mistakesOf(configuration)).toEqual([
      'projects[0].roles[1000] project_limit_reached',
      'serviceUsers[0].projectRoles[0].roles[1] project_role_not_found',
    ])
  })
})

describe('the last owner', () => {
  const owner = (name: string): ServiceUserConfiguration => ({ ...ROBOT, name, instanceRoles: ['IAM_OWNER'] })
  const state = applied(withUsers(owner('one')))

  it('may hand over to another one in the same configuration', () => {
    expect(linesOf(withUsers({ ...ROBOT, name: 'one' }, owner('two')), state)).toContain('instanceRoles: IAM_OWNER > ')
  })

  it('is neither disabled nor pruned', () => {
    const disabled = withUsers({ ...owner('one'), enabled: false })
    expect(refusalOf(() => planOf(disabled, state))).toEqual(['serviceUsers[0] last_owner'])
    expect(refusalOf(() => planOf(withUsers(), state, { prune: true }))).toEqual([' last_owner'])
    expect(() => planOf(withUsers(), { ...state, otherOwners: 1 }, { prune: true })).not.toThrow()
  })
})

describe('a project that is pruned', () => {
  const state = applied(withUsers(ROBOT))
  const [project] = state.projects
  const nothing = { ...withUsers(), projects: [] }

  it('is deleted with its users, and not while others are in it', () => {
    expect(planOf(nothing, state, { prune: true }).changes.map(({ next }) => next)).toEqual([null, null])
    const unlabelled = { ...state, labels: new Map([[project!.projectId, 'default']]) }
    expect(refusalOf(() => planOf(nothing, unlabelled, { prune: true }))).toEqual([' project_has_users'])
    const more = { ...state, otherUsers: new Map([[project!.projectId, 1]]) }
    expect(refusalOf(() => planOf(nothing, more, { prune: true }))).toEqual([' project_has_users'])
  })
})

describe('an audience', () => {
  const urn = 'urn:shop'
  const state = applied({ ...withUsers(), projects: [{ ...SHOP, audiences: [urn] }] })
  const bank = { name: 'bank', roles: [], scopes: [], audiences: [urn], rolesClaim: false }

  it('moves from one project to another in one step', () => {
    expect(linesOf({ ...withUsers(), projects: [bank, SHOP] }, state).toSorted()).toEqual([
      `audiences:  > ${urn}`,
      `audiences: ${urn} > `,
    ])
  })

  it('belongs to one project', () => {
    expect(refusalOf(() => planOf({ ...withUsers(), projects: [bank] }, state))).toEqual([
      'projects[0].audiences[0] project_audience_taken',
    ])
  })
})

describe('the rotation policy', () => {
  it('stays as it is unless the configuration has one, and keeps the rules of changes', () => {
    expect(planOf(withUsers(), EMPTY).changes.map(({ kind }) => kind)).toEqual(['project'])
    const rotationPolicy = { ...DEFAULT_ROTATION_POLICY, enabled: false }
    expect(linesOf({ ...withUsers(), rotationPolicy }, EMPTY)).toContain('enabled: yes > no')
    const short = { ...DEFAULT_ROTATION_POLICY, retentionSeconds: 1 }
    expect(refusalOf(() => planOf({ ...withUsers(), rotationPolicy: short }, EMPTY))).toEqual([
      'rotationPolicy rotation_policy_invalid',
    ])
  })
})
