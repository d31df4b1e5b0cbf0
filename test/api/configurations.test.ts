/**
 * `iam.config.v2.ConfigService` on two replicas.
 */
import { create } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ConfigurationSchema } from '../../gen/iam/config/v2/configuration_pb.js'
import type { Plan } from '../../gen/iam/config/v2/plan_pb.js'
import { ProjectMemberRole } from '../../gen/iam/project/v2/project_pb.js'
import { type Administration, administrationOf, administrationWith, refusalOf } from '../support/administration.ts'
import { lineOf, nameOf, newPublicJwk, type SentConfiguration } from '../support/configurations.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

let instance: OAuthInstance
let admin: Administration
/** The same caller at the other replica. */
let elsewhere: Administration

beforeAll(async () => {
  instance = await startOAuthInstance()
  admin = await administrationOf(instance.keyturn)
  elsewhere = administrationWith(await instance.startReplica(), admin.token)
})

afterAll(() => instance?.stop())

const KEY = newPublicJwk()

/** A configuration with something of each kind. */
function shop(name: string) {
  const issuer = `https://${name}.example.com`
  return {
    projects: [{ name, roles: ['reader'], scopes: [`${name}.write`], audiences: [`https://api.${name}.example.com`] }],
    trustedIssuers: [{ issuer, keys: { source: { case: 'discovery', value: {} } }, maxLifetimeSeconds: 600 }],
    serviceUsers: [
      {
        project: name,
        name: 'checkout',
        projectRoles: [{ project: name, roles: ['reader'] }],
        managedProjects: [{ project: name, role: ProjectMemberRole.PROJECT_OWNER }],
        scopes: [`${name}.write`],
        publicKeys: [{ publicJwk: KEY }],
        federatedIdentities: [{ issuer, subject: 'repo:shop/checkout', claims: [{ pointer: '/ref', value: 'main' }] }],
        clientCertificates: [{ match: { match: { case: 'sanDns', value: 'Checkout.Example.com' } } }],
        tokenLifetime: { seconds: 300n },
        tokenClaims: '{"team":"shop","a":{"z":1,"b":[2]}}',
        boundTokensRequired: true,
      },
    ],
  } satisfies SentConfiguration
}

async function planOf(configuration: SentConfiguration, options: object = {}): Promise<Plan> {
  const { plan, mistakes } = await admin.configurations.planConfiguration({ configuration, ...options })
  expect(mistakes).toEqual([])
  return plan!
}

const versionOf = async ({ instance }: Administration) => (await instance.getInstance({})).instance!.version

describe('applying a configuration', () => {
  it('makes what the plan says, in one version, on all replicas', async () => {
    const configuration = shop('bakery')
    const plan = await planOf(configuration)
    expect(plan.changes.map(lineOf)).toEqual([
      'CREATE PROJECT bakery',
      'CREATE TRUSTED_ISSUER https://bakery.example.com',
      'CREATE SERVICE_USER bakery checkout',
    ])
    expect(plan.serviceUsers).toMatchObject([{ project: 'bakery', name: 'checkout', userId: '', clientId: '' }])
    const before = await versionOf(admin)

    const applied = await admin.configurations.applyConfiguration({ configuration, version: plan.version })
    expect(applied.plan!.changes).toEqual(plan.changes)
    expect(applied.version).toBe(plan.version + 1n)
    expect(applied.version).toBe(before + 1n)

    const { userId, clientId } = applied.plan!.serviceUsers[0]!
    expect(clientId).toBe(`${userId}@bakery`)
    expect((await elsewhere.users.getServiceUser({ userId })).serviceUser).toMatchObject({
      name: 'checkout',
      enabled: true,
      clientCredentialsEnabled: true,
      scopes: ['bakery.write'],
      projectRoles: [{ roles: ['reader'] }],
      managedProjects: [{ role: ProjectMemberRole.PROJECT_OWNER }],
      boundTokensRequired: true,
      tokenLifetime: { seconds: 300n },
    })
    expect((await elsewhere.users.listUserKeys({ userId })).keys).toHaveLength(1)
    expect((await elsewhere.identities.listFederatedIdentities({ userId })).identities).toHaveLength(1)
    expect((await elsewhere.certificates.listClientCertificates({ userId })).certificates).toHaveLength(1)
  })

  it('says what is different as a person reads it, and takes away what is not named', async () => {
    const configuration = shop('grocer')
    await admin.configurations.applyConfiguration({ configuration })
    const [project] = configuration.projects
    const [user] = configuration.serviceUsers
    const changed: SentConfiguration = {
      ...configuration,
      projects: [{ ...project!, roles: ['reader', 'writer'] }],
      serviceUsers: [
        { ...user!, projectRoles: [{ project: 'grocer', roles: ['writer'] }], enabled: false, federatedIdentities: [] },
      ],
    }
    const plan = await planOf(changed)
    expect(
      plan.changes.map(({ fields, ...change }) => [
        lineOf(change as never),
        fields.map(({ field, before, after }) => [field, before, after]),
      ]),
    ).toEqual([
      ['CHANGE PROJECT grocer', [['roles', '', 'writer']]],
      [
        'CHANGE SERVICE_USER grocer checkout',
        [
          ['enabled', 'yes', 'no'],
          ['projectRoles.grocer', 'reader', ''],
          ['projectRoles.grocer', '', 'writer'],
          ['federatedIdentities', '"repo:shop/checkout" of https://grocer.example.com, /ref = "main"', ''],
        ],
      ],
    ])
    await admin.configurations.applyConfiguration({ configuration: changed })
    expect((await planOf(changed)).changes).toEqual([])
    const { plan: back } = await admin.configurations.applyConfiguration({ configuration })
    expect(back!.changes.map(lineOf)).toEqual(['CHANGE PROJECT grocer', 'CHANGE SERVICE_USER grocer checkout'])
  })

  it('leaves fields of newer clients alone, however many', async () => {
    const $unknown = Array(6000).fill({ no: 1000, wireType: 0, data: Uint8Array.of(1) })
    await planOf(Object.assign(create(ConfigurationSchema, shop('furrier')), { $unknown }))
  })

  it('writes an audit event for each changed resource, with the reason', async () => {
    const configuration = shop('hatter')
    const reason = 'commit 3f2a1: the hatter opens'
    await admin.configurations.applyConfiguration({ configuration, reason })
    const { events } = await admin.audit.listAuditEvents({ pageSize: 10 })
    const own = events.filter((event) => event.reason === reason)
    expect(own.map(({ resource }) => resource.split('/')[0]).toSorted()).toEqual([
      'projects',
      'trusted_issuers',
      'users',
    ])
    expect(new Set(own.map(({ action, requestId }) => `${action} ${requestId}`)).size).toBe(1)
    expect(own[0]).toMatchObject({ action: 'iam.config.v2.ConfigService/ApplyConfiguration', outcome: 'ok' })
  })

  it('is refused if the instance is not at the version of the plan', async () => {
    const configuration = shop('ironmonger')
    const { version } = await planOf(configuration)
    await elsewhere.projects.createProject({ name: 'meanwhile' })
    expect(await refusalOf(admin.configurations.applyConfiguration({ configuration, version }))).toMatchObject({
      code: 'Aborted',
      reason: 'CONFIGURATION_CHANGED',
    })
    expect((await planOf(configuration)).changes).toHaveLength(3)
  })
})

describe('the label of a configuration', () => {
  it('is given to what exists without one, which is no difference', async () => {
    await admin.projects.createProject({ name: 'library' })
    const configuration = { projects: [{ name: 'library' }] }
    const plan = await planOf(configuration)
    expect([plan.changes, plan.takenOver.map(nameOf)]).toEqual([[], ['PROJECT library']])
    const { version } = await admin.configurations.applyConfiguration({ configuration })
    expect(version).toBe(plan.version + 1n)
    expect((await planOf(configuration)).takenOver).toEqual([])
    expect((await elsewhere.configurations.applyConfiguration({ configuration })).version).toBe(version)
  })

  it('is part of the state that a plan was made on, so that pruning deletes what the plan shows and nothing else', async () => {
    const labelled = { label: 'confirmed', prune: true }
    await admin.projects.createProject({ name: 'lighthouse' })
    const { version, changes } = await planOf({}, labelled)
    expect(changes).toEqual([])
    const adopting = { configuration: { projects: [{ name: 'lighthouse' }] }, label: 'confirmed' }
    await elsewhere.configurations.applyConfiguration(adopting)
    expect(
      await refusalOf(admin.configurations.applyConfiguration({ configuration: {}, version, ...labelled })),
    ).toMatchObject({ code: 'Aborted', reason: 'CONFIGURATION_CHANGED' })
    expect((await planOf({}, labelled)).changes.map(lineOf)).toEqual(['DELETE PROJECT lighthouse'])
  })

  it('keeps other configurations away, unless they take over', async () => {
    const configuration = { projects: [{ name: 'mill', roles: ['miller'] }] }
    await admin.configurations.applyConfiguration({ configuration, label: 'team-a' })
    const { plan, mistakes } = await admin.configurations.planConfiguration({ configuration, label: 'team-b' })
    expect(plan).toBeUndefined()
    expect(mistakes).toMatchObject([{ path: 'projects[0]', reason: 'CONFIGURATION_LABEL_TAKEN' }])
    const taken = await planOf(configuration, { label: 'team-b', takeOver: true })
    expect(taken.takenOver.map(nameOf)).toEqual(['PROJECT mill'])
  })

  it('limits what pruning deletes', async () => {
    await admin.projects.createProject({ name: 'nobodys' })
    const labelled = { label: 'pruned', prune: true }
    await admin.configurations.applyConfiguration({ configuration: shop('nursery'), ...labelled })
    const { changes } = await planOf({}, labelled)
    expect(changes.map(lineOf)).toEqual([
      'DELETE PROJECT nursery',
      'DELETE TRUSTED_ISSUER https://nursery.example.com',
      'DELETE SERVICE_USER nursery checkout',
    ])
    await admin.configurations.applyConfiguration({ configuration: {}, ...labelled })
    const { projects } = await admin.projects.listProjects({ pageSize: 1000 })
    const names = projects.map(({ name }) => name)
    expect(names).toContain('nobodys')
    expect(names).not.toContain('nursery')
  })
})

describe('what users lose that a plan does not name', () => {
  it('is counted, with what is taken away', async () => {
    const label = { label: 'losing' }
    const issuer = 'https://losing.example.com'
    const trusted = { issuer, keys: { source: { case: 'discovery', value: {} } } } as const
    const projects = [{ name: 'orchard', roles: ['picker'], scopes: ['pick'] }]
    const configuration: SentConfiguration = { projects, trustedIssuers: [trusted] }
    await admin.configurations.applyConfiguration({ configuration, ...label })
    const robot = {
      project: 'orchard',
      name: 'robot',
      projectRoles: [{ project: 'orchard', roles: ['picker'] }],
      scopes: ['pick'],
      federatedIdentities: [{ issuer, subject: 'robot' }],
    }
    await admin.configurations.applyConfiguration({ configuration: { serviceUsers: [robot] }, label: 'others' })
    const { changes } = await planOf({ projects: [{ name: 'orchard' }] }, { ...label, prune: true })
    expect(changes.map(({ otherUsers, fields }) => [otherUsers, ...fields.map((field) => field.otherUsers)])).toEqual([
      [0, 1, 1],
      [1],
    ])
  })
})

describe('mistakes', () => {
  it('are all told at once, each with its place', async () => {
    const { projects } = await admin.projects.listProjects({ pageSize: 1 })
    const { projectId, name } = projects[0]!
    const twin = () => admin.users.createServiceUser({ projectId, name: 'twin' })
    const twins = [await twin(), await twin()]
    const configuration: SentConfiguration = {
      projects: [
        { name: 'pottery', roles: ['potter'], scopes: ['openid'], audiences: [instance.keyturn.baseUrl] },
        { name: 'pottery' },
      ],
      trustedIssuers: [
        { issuer: 'https://keys.example.com', keys: { source: { case: 'jwks', value: '{"keys":[]}' } } },
      ],
      serviceUsers: [
        { project: 'nowhere', name: 'lost' },
        { project: name, name: 'twin' },
        {
          project: 'pottery',
          name: 'kiln',
          projectRoles: [
            { project: 'pottery', roles: ['potter', 'baker'] },
            { project: 'nowhere', roles: ['x'] },
          ],
          scopes: ['openid'],
          publicKeys: [{ publicJwk: '{"kty":"oct"}' }, { publicJwk: KEY }],
          federatedIdentities: [{ issuer: 'https://unknown.example.com', subject: 'x' }],
          clientCertificates: [{ match: { match: { case: 'sanDns', value: '*.example.com' } } }],
          tokenLifetime: { seconds: 1n },
          tokenClaims: '{"sub":"me"}',
        },
      ],
      rotationPolicy: { retention: { seconds: 1n } },
    }
    const { plan, mistakes } = await admin.configurations.planConfiguration({ configuration })
    expect(plan).toBeUndefined()
    expect(mistakes.map(({ path, reason }) => `${path} ${reason}`).toSorted()).toEqual([
      'projects[0].audiences[0] AUDIENCE_RESERVED',
      'projects[0].scopes[0] SCOPE_RESERVED',
      'projects[1].name INVALID_ARGUMENT',
      'rotationPolicy ROTATION_POLICY_INVALID',
      'serviceUsers[0].project PROJECT_NOT_FOUND',
      'serviceUsers[1].name USER_NAME_NOT_UNIQUE',
      'serviceUsers[2].clientCertificates[0] CLIENT_CERTIFICATE_INVALID',
      'serviceUsers[2].federatedIdentities[0].issuer TRUSTED_ISSUER_NOT_FOUND',
      'serviceUsers[2].projectRoles[0].roles[1] PROJECT_ROLE_NOT_FOUND',
      'serviceUsers[2].projectRoles[1].project PROJECT_NOT_FOUND',
      'serviceUsers[2].publicKeys[0].publicJwk USER_KEY_INVALID',
      'serviceUsers[2].tokenClaims TOKEN_CLAIMS_INVALID',
      'serviceUsers[2].tokenLifetime TOKEN_LIFETIME_INVALID',
      'trustedIssuers[0].keys TRUSTED_ISSUER_INVALID',
    ])
    const before = await versionOf(admin)
    expect(await refusalOf(admin.configurations.applyConfiguration({ configuration }))).toMatchObject({
      code: 'InvalidArgument',
      reason: 'CONFIGURATION_INVALID',
      message: expect.stringMatching(/^the configuration has 14 mistakes, first serviceUsers/),
    })
    expect(await versionOf(admin)).toBe(before)
    // Two of one name cannot be exported either.
    expect(await refusalOf(admin.configurations.exportConfiguration({}))).toMatchObject({
      code: 'FailedPrecondition',
      reason: 'USER_NAME_NOT_UNIQUE',
    })
    for (const { serviceUser } of twins) await admin.users.deleteServiceUser({ userId: serviceUser!.userId })
  })

  it('of form are told with the names of JSON', async () => {
    const { mistakes } = await admin.configurations.planConfiguration({
      configuration: {
        projects: [{ name: 'Not A Name', roles: ['', 'a b'] }],
        serviceUsers: [{ project: 'x', name: 'n\0', federatedIdentities: [{ issuer: '', subject: 's' }] }],
        trustedIssuers: [
          { issuer: 'https://ci.example.com', maxLifetimeSeconds: 1 },
          { issuer: 'https://nul.example.com', keys: { source: { case: 'jwks', value: '\0' } } },
        ],
      },
    })
    expect(mistakes.map(({ path, reason }) => `${path} ${reason}`).toSorted()).toEqual([
      'projects[0].name INVALID_ARGUMENT',
      'projects[0].roles[0] INVALID_ARGUMENT',
      'projects[0].roles[1] INVALID_ARGUMENT',
      'serviceUsers[0].federatedIdentities[0].issuer INVALID_ARGUMENT',
      'serviceUsers[0].name INVALID_ARGUMENT',
      'trustedIssuers[0].keys INVALID_ARGUMENT',
      'trustedIssuers[0].maxLifetimeSeconds INVALID_ARGUMENT',
      'trustedIssuers[1].keys.jwks INVALID_ARGUMENT',
    ])
  })
})

describe('an exported configuration', () => {
  it('makes no difference when it is applied', async () => {
    await admin.configurations.applyConfiguration({ configuration: shop('quarry') })
    const all = await admin.projects.listProjects({ pageSize: 1000 })
    expect(all.projects.length).toBeGreaterThan(1)
    const { configuration } = await admin.configurations.exportConfiguration({})
    expect(configuration!.projects).toHaveLength(all.projects.length)
    expect((await planOf(configuration!, { takeOver: true })).changes).toEqual([])
  })
})

describe('a large configuration', () => {
  const send = async (mebibytes: number, headers: Record<string, string> = {}) => {
    const response = await instance.fetch('/iam.config.v2.ConfigService/PlanConfiguration', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: `{"label":"${'x'.repeat(mebibytes * 1024 * 1024 - 12)}"}`,
    })
    return [response.status, ((await response.json()) as { message: string }).message]
  }

  it('is read up to 4 MiB, and only for a caller who may plan', async () => {
    const authorization = `Bearer ${admin.token}`
    expect(await send(4, { authorization })).toEqual([400, expect.stringContaining('label')])
    expect(await send(5, { authorization })).toEqual([413, expect.stringContaining('4194304')])
    expect((await send(3))[0]).toBe(401)
  })

  it('has limits, which are told alone', async () => {
    const serviceUsers = Array.from({ length: 5001 }, () => ({}))
    const { mistakes } = await admin.configurations.planConfiguration({ configuration: { serviceUsers } })
    expect(mistakes).toMatchObject([{ path: 'serviceUsers', reason: 'CONFIGURATION_TOO_LARGE' }])
  })
})
