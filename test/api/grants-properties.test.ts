/**
 * Random sequences of calls by users of all kinds, on a real server: nobody ever gets hold of a permission that no owner gave.
 */
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { ProjectMemberRole } from '../../gen/iam/project/v2/project_pb.js'
import { InstanceRole, type ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { type Administration, administrationOf, administrationWith } from '../support/administration.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'
import { PERMISSION_TABLE } from '../support/roles-page.ts'
import { newPersonalAccessToken } from './losses.ts'

const { PROJECT_OWNER, PROJECT_OWNER_VIEWER } = ProjectMemberRole
const MEMBER_ROLES = [PROJECT_OWNER, PROJECT_OWNER_VIEWER]
const INSTANCE_ROLES = [
  InstanceRole.IAM_OWNER,
  InstanceRole.IAM_OWNER_VIEWER,
  InstanceRole.IAM_KEY_OPERATOR,
  InstanceRole.IAM_AUDITOR,
  InstanceRole.IAM_USER_ADMINISTRATOR,
]

/** How many users and projects there are in a sequence. */
const USERS = 6
const PROJECTS = 2

const user = fc.nat(USERS - 1)
const project = fc.nat(PROJECTS - 1)

/** Mostly one of the first two. */
const caller = fc.oneof({ weight: 2, arbitrary: fc.nat(1) }, { weight: 1, arbitrary: user })

/** One call: who makes it, about whom, about which project. */
const step = fc.record({
  caller,
  target: user,
  project,
  call: fc.constantFrom(
    'setMember',
    'removeMember',
    'setInstanceRoles',
    'secret',
    'token',
    'create',
    'disable',
    'grant',
  ),
  memberRole: fc.constantFrom(...MEMBER_ROLES),
  instanceRole: fc.constantFrom(...INSTANCE_ROLES),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** How an owner sets the users up: who has what. The first two may do something in any case. */
const setup = fc.array(
  fc.record({
    home: project,
    instanceRole: fc.option(fc.constantFrom(...INSTANCE_ROLES.slice(1)), { freq: 1 }),
    members: fc.uniqueArray(fc.tuple(project, fc.constantFrom(...MEMBER_ROLES)), {
      maxLength: PROJECTS,
      selector: ([index]) => index,
    }),
  }),
  { minLength: USERS - 2, maxLength: USERS - 2 },
)

let instance: OAuthInstance
let admin: Administration
let names = 0
beforeAll(async () => {
  instance = await startOAuthInstance()
  const bootstrapped = await administrationOf(instance.keyturn)
  const { client_id } = await instance.keyturn.admin()
  admin = administrationWith(instance.keyturn, await newPersonalAccessToken(bootstrapped, client_id.split('@')[0]!))
})
afterAll(() => instance?.stop())

interface Player {
  readonly userId: string
  readonly api: Administration
}

/** What a user has: `permission` over the instance, `permission project`. Over itself does not count. */
type Power = ReadonlySet<string>

async function powersOf(projectIds: readonly string[]): Promise<Map<string, Power>> {
  const lists = await Promise.all(projectIds.map((projectId) => admin.users.listServiceUsers({ projectId })))
  return new Map(lists.flatMap(({ serviceUsers }) => serviceUsers.map((each) => [each.userId, powerOf(each)])))
}

function powerOf({ instanceRoles, managedProjects }: ServiceUser): Power {
  const power = new Set<string>()
  for (const [permission, columns] of PERMISSION_TABLE) {
    if (instanceRoles.some((role) => columns.has(InstanceRole[role]))) power.add(permission)
    for (const { projectId, role } of managedProjects) {
      if (columns.has(ProjectMemberRole[role])) power.add(`${permission} ${projectId}`)
    }
  }
  return power
}

const has = (power: Power, item: string) => power.has(item) || power.has(item.split(' ')[0]!)
const beyond = (power: Power, limit: Power) => [...power].filter((item) => !has(limit, item))

/** Makes the call. @returns The user of whom the caller has a new credential; undefined if it has none, or was refused. */
async function play(
  { call, memberRole, instanceRole }: Step,
  { caller, userId, projectId }: { caller: Player; userId: string; projectId: string },
): Promise<string | undefined> {
  const { users, projects } = caller.api
  try {
    switch (call) {
      case 'setMember':
        await projects.setProjectMember({ projectId, userId, role: memberRole })
        return undefined
      case 'removeMember':
        await projects.removeProjectMember({ projectId, userId })
        return undefined
      case 'setInstanceRoles':
        await users.setInstanceRoles({ userId, instanceRoles: [instanceRole] })
        return undefined
      case 'secret':
        await users.generateClientSecret({ userId })
        return userId
      case 'token':
        await users.createPersonalAccessToken({ userId, expirationDate: timestampFromDate(inAnHour()) })
        return userId
      case 'create':
        return (await users.createServiceUser({ projectId, name: 'created' })).serviceUser!.userId
      case 'disable':
        await users.disableServiceUser({ userId })
        await users.enableServiceUser({ userId })
        return userId
      case 'grant':
        await users.grantProjectRole({ userId, projectId, role: 'reader' })
        return userId
    }
  } catch {
    return undefined
  }
}

function inAnHour(): Date {
  return new Date(Date.now() + 3_600_000)
}

async function newProject(): Promise<string> {
  names += 1
  const { projectId } = (await admin.projects.createProject({ name: `p${names}` })).project!
  await admin.projects.addProjectRole({ projectId, role: 'reader' })
  return projectId
}

describe('any sequence of calls by users who are no owners', () => {
  it('gives nobody more than the caller has, and no credential of a user who has more', async () => {
    let allowed = 0
    await fc.assert(
      fc.asyncProperty(setup, fc.array(step, { minLength: 20, maxLength: 40 }), async (facts, steps) => {
        const projectIds = [await newProject(), await newProject()]
        const players: Player[] = []
        const first = { home: 0, instanceRole: InstanceRole.IAM_USER_ADMINISTRATOR, members: [] }
        const second = { home: 1, instanceRole: null, members: [[0, PROJECT_OWNER] as const] }
        for (const { home, instanceRole, members } of [first, second, ...facts]) {
          const { serviceUser } = await admin.users.createServiceUser({ projectId: projectIds[home]!, name: 'player' })
          const { userId } = serviceUser!
          const api = administrationWith(instance.keyturn, await newPersonalAccessToken(admin, userId))
          await admin.users.setInstanceRoles({ userId, instanceRoles: instanceRole === null ? [] : [instanceRole] })
          for (const [index, role] of members) {
            await admin.projects.setProjectMember({ projectId: projectIds[index]!, userId, role })
          }
          players.push({ userId, api })
        }
        let before = await powersOf(projectIds)
        for (const next of steps) {
          const caller = players[next.caller]!
          const userId = players[next.target]!.userId
          const reached = await play(next, { caller, userId, projectId: projectIds[next.project]! })
          const after = await powersOf(projectIds)
          const own = before.get(caller.userId)!
          const known = new Set([...own, ...(before.get(userId) ?? [])])
          expect(beyond(after.get(userId)!, known)).toEqual([])
          for (const { userId: bystander } of players) {
            if (bystander !== userId) expect(after.get(bystander)).toEqual(before.get(bystander))
          }
          if (reached !== undefined) {
            allowed += 1
            expect(beyond(before.get(reached) ?? new Set(), own)).toEqual([])
          }
          before = after
        }
      }),
      { numRuns: 6, endOnFailure: true },
    )
    // Otherwise nothing was tried.
    expect(allowed).toBeGreaterThan(5)
  }, 120_000)
})
