import { describe, expect, it } from '@jest/globals'
import type { ServiceUser } from '../../../../src/domain/identities/service-user.ts'
import {
  decideTokenGrant,
  type GrantedToken,
  ROLES_SCOPE,
  SERVICE_AUDIENCE_SCOPE,
  type TokenRequest,
} from '../../../../src/domain/identities/token-grant.ts'

const serviceAudience = 'https://keyturn.example'

const user: ServiceUser = {
  userId: 'user-1',
  name: 'invoicer',
  projectId: 'own',
  projectName: 'billing',
  createdAt: new Date(0),
  enabled: true,
  clientCredentialsEnabled: true,
  boundTokensRequired: false,
  certificateBoundTokens: false,
  credentials: [],
  instanceRoles: ['IAM_OWNER'],
  managedProjects: new Map(),
  projectRoles: new Map([
    ['own', ['writer']],
    ['granted', ['reader', 'auditor']],
    ['revoked', []],
  ]),
  rolesClaimProjects: [],
  customScopes: ['invoices:write'],
  projectsByAudience: new Map([
    ['https://own.example', 'own'],
    ['urn:own', 'own'],
    ['https://granted.example', 'granted'],
  ]),
  tokensRevokedAt: null,
  revokedTokens: [],
  tokenLifetimeSeconds: 120,
  tokenClaims: { tenant: 'a' },
}

const audienceScope = (projectId: string): string => `urn:service:iam:org:project:id:${projectId}:aud`

const decide = (scope: string | undefined, changes: Partial<ServiceUser> = {}, request: Partial<TokenRequest> = {}) =>
  decideTokenGrant(
    { ...user, ...changes },
    { projectName: 'billing', scope, isBound: false, serviceAudience, ...request },
  )

function granted(scope: string | undefined, changes: Partial<ServiceUser> = {}): GrantedToken {
  const decision = decide(scope, changes)
  if (decision.kind !== 'granted') throw new Error(`denied: ${JSON.stringify(decision)}`)
  return decision
}

describe('a token', () => {
  it('is about the user, for its own project, with the scope openid when none is asked for', () => {
    for (const scope of [undefined, '', ' ', '   ']) {
      expect(decide(scope)).toEqual({
        kind: 'granted',
        subject: 'user-1',
        scopes: ['openid'],
        audience: ['own'],
        roleClaims: {},
        tokensRevokedAt: null,
        settings: { tokenLifetimeSeconds: 120, tokenClaims: { tenant: 'a' } },
      })
    }
  })

  it('is for the service and nothing else with the default scopes [Spec §4.1]', () => {
    const token = granted(`openid ${SERVICE_AUDIENCE_SCOPE}`)
    expect(token.audience).toEqual([serviceAudience])
    expect(token.scopes).toEqual(['openid', SERVICE_AUDIENCE_SCOPE])
    expect(token.roleClaims).toEqual({})
  })

  it('has each scope once, in the order of the request', () => {
    expect(granted('  profile openid  profile email openid ').scopes).toEqual(['profile', 'openid', 'email'])
  })

  it('is for the service and nothing else when resource names it [RFC 8707 §2]', () => {
    expect(decide('openid', {}, { resources: [serviceAudience] })).toMatchObject({ audience: [serviceAudience] })
  })

  it('is for all that was asked for, in the order of the request, with what resource names at the end', () => {
    const scope = `${audienceScope('granted')} ${audienceScope('own')}`
    expect(decide(scope, {}, { resources: [serviceAudience] })).toMatchObject({
      audience: ['granted', 'own', serviceAudience],
    })
    expect(granted(`${audienceScope('own')} ${SERVICE_AUDIENCE_SCOPE}`).audience).toEqual(['own', serviceAudience])
  })

  it('is for the audiences that resource names, and nothing else, each once and in their order [RFC 8707 §2]', () => {
    const resources = ['https://granted.example', 'urn:own', 'https://granted.example']
    expect(decide('openid', {}, { resources })).toMatchObject({ audience: ['https://granted.example', 'urn:own'] })
  })
})

describe('the role claims of a token', () => {
  it('are there only when asked for [Spec §4.1]', () => {
    expect(granted(`openid ${audienceScope('granted')}`).roleClaims).toEqual({})
    expect(granted(ROLES_SCOPE).roleClaims).toEqual({
      'urn:service:iam:org:project:roles': ['writer'],
      'urn:service:iam:org:project:own:roles': ['writer'],
    })
  })

  it('tell roles on every project that the token is for, and on no other', () => {
    for (const scope of [`${ROLES_SCOPE} ${audienceScope('granted')}`, `${audienceScope('granted')} ${ROLES_SCOPE}`]) {
      expect(granted(scope).roleClaims).toEqual({
        'urn:service:iam:org:project:roles': ['writer'],
        'urn:service:iam:org:project:granted:roles': ['reader', 'auditor'],
      })
    }
    expect(granted(`${ROLES_SCOPE} ${audienceScope('granted')} ${audienceScope('own')}`).roleClaims).toEqual({
      'urn:service:iam:org:project:roles': ['writer'],
      'urn:service:iam:org:project:own:roles': ['writer'],
      'urn:service:iam:org:project:granted:roles': ['reader', 'auditor'],
    })
  })

  it('tell roles on the projects of the audiences that resource names', () => {
    expect(decide(ROLES_SCOPE, {}, { resources: ['https://granted.example'] })).toMatchObject({
      roleClaims: {
        'urn:service:iam:org:project:roles': ['writer'],
        'urn:service:iam:org:project:granted:roles': ['reader', 'auditor'],
      },
    })
  })

  it('are an empty list for a user without roles', () => {
    expect(granted(ROLES_SCOPE, { projectRoles: new Map() }).roleClaims).toEqual({
      'urn:service:iam:org:project:roles': [],
    })
  })

  it('tell roles as `roles` too, if the one project that the token is for wants that [RFC 9068 §2.2.3.1]', () => {
    const rolesFor = (resources: readonly string[], scope = ROLES_SCOPE) => {
      const decision = decide(scope, { rolesClaimProjects: ['granted'] }, { resources })
      return decision.kind === 'granted' ? decision.roleClaims.roles : decision
    }
    expect(rolesFor(['https://granted.example'])).toEqual(['reader', 'auditor'])
    expect(rolesFor([], `${ROLES_SCOPE} ${audienceScope('granted')}`)).toEqual(['reader', 'auditor'])
    expect(rolesFor(['https://own.example'])).toBeUndefined()
    expect(rolesFor(['https://granted.example'], 'openid')).toBeUndefined()
    // Another service could take the roles of this project for roles of its own.
    expect(rolesFor(['https://granted.example', 'https://own.example'])).toBeUndefined()
    expect(rolesFor(['https://granted.example', serviceAudience])).toBeUndefined()
  })
})

describe('a token is denied', () => {
  it('when the client id names another project [Spec §7]', () => {
    expect(decide('openid', {}, { projectName: 'shipping' })).toEqual({ kind: 'denied', reason: 'wrong_project' })
  })

  it('when the client credentials grant is not enabled for the user [Spec §5]', () => {
    const denied = { kind: 'denied', reason: 'grant_not_enabled' }
    expect(decide('openid', { clientCredentialsEnabled: false })).toEqual(denied)
    expect(decide('unknown', { clientCredentialsEnabled: false })).toEqual(denied)
  })

  it('is denied to a user who gets bound tokens only, unless it is going to be bound [RFC 9449 §5.2]', () => {
    const required = { boundTokensRequired: true }
    expect(decide('openid', required)).toEqual({ kind: 'denied', reason: 'binding_required' })
    expect(decide('openid', required, { isBound: true })).toMatchObject({ kind: 'granted' })
    expect(decide('openid', {}, { isBound: true })).toMatchObject({ kind: 'granted' })
  })

  it.each([
    'unknown',
    'OPENID',
    'invoices:read',
    audienceScope('other'),
    audienceScope('revoked'),
    audienceScope(''),
    audienceScope('own:x'),
    `${audienceScope('own')}x`,
    `x${audienceScope('own')}`,
    'urn:service:iam:org:project:id:own',
    'openid\tprofile',
    'openid\n',
    '__proto__',
  ])('when a scope is unknown or out of reach: %j [Spec §7]', (scope) => {
    const denied = { kind: 'denied', reason: 'scope_not_allowed', scope }
    expect(decide(scope)).toEqual(denied)
    expect(decide(`openid ${scope}`)).toEqual(denied)
  })

  it('when a custom scope is not granted to the user any more [Spec §7]', () => {
    expect(decide('invoices:write', { customScopes: [] })).toMatchObject({ reason: 'scope_not_allowed' })
  })

  it.each(['invoices:writes', 'invoices:write:all', 'invoices:writ', 'invoices', 'Invoices:write', 'x:invoices:write'])(
    'when a scope only resembles a custom scope that was granted: %s [Spec §7]',
    (scope) => {
      expect(decide(scope)).toEqual({ kind: 'denied', reason: 'scope_not_allowed', scope })
    },
  )

  it.each(['https://own.example/', 'https://own.example/other', 'own', 'urn:elsewhere', '', '__proto__'])(
    'when a resource is no audience of a project that is within reach: %j [RFC 8707 §2]',
    (resource) => {
      const denied = { kind: 'denied', reason: 'resource_not_allowed', resource }
      expect(decide('openid', {}, { resources: [resource] })).toEqual(denied)
      expect(decide('openid', {}, { resources: ['https://own.example', resource] })).toEqual(denied)
    },
  )
})
