/**
 * Every method of the API, called by users with a role of each sort, about what is within the reach of the role and what is not. What is
 * expected is the table of `docs/roles.md`, which `permission.test.ts` compares with the code for every role. Owners call every method in
 * `lost-rights.test.ts`.
 */
import type { JsonObject } from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ProjectMemberRole } from '../../gen/iam/project/v2/project_pb.js'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import {
  type Administration,
  administrationOf,
  administrationWith,
  METHODS,
  NOBODY,
} from '../support/administration.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'
import { PERMISSION_TABLE } from '../support/roles-page.ts'
import { everyRequest, webKeyRequests } from './every-request.ts'
import { newPersonalAccessToken } from './losses.ts'

type Method = (typeof METHODS)[number]
type Requests = Readonly<Record<string, JsonObject>>

/** A role by its name in the table, and how a user gets it. */
interface Kind {
  readonly caller: string
  readonly role: string
  readonly instanceRole?: InstanceRole
  readonly memberRole?: ProjectMemberRole
}

const CALLERS: readonly Kind[] = [
  { caller: 'a viewer', role: 'IAM_OWNER_VIEWER', instanceRole: InstanceRole.IAM_OWNER_VIEWER },
  { caller: 'a key operator', role: 'IAM_KEY_OPERATOR', instanceRole: InstanceRole.IAM_KEY_OPERATOR },
  { caller: 'an auditor', role: 'IAM_AUDITOR', instanceRole: InstanceRole.IAM_AUDITOR },
  { caller: 'a project owner', role: 'PROJECT_OWNER', memberRole: ProjectMemberRole.PROJECT_OWNER },
  { caller: 'a user without a role', role: 'none' },
]

/** What a call is about: something of the project of the caller, of another one, or the caller itself. */
type Place = 'own' | 'other' | 'itself'

/** A caller with what it can be about. */
interface Caller extends Kind {
  readonly userId: string
  readonly api: Administration
  readonly own: Requests
  readonly itself: Requests
}

let instance: OAuthInstance
let admin: Administration
let other: Requests
const callers = new Map<string, Caller>()

beforeAll(async () => {
  instance = await startOAuthInstance({ KEYTURN_MAX_WEB_KEYS: '500' })
  const bootstrapped = await administrationOf(instance.keyturn)
  const { client_id } = await instance.keyturn.admin()
  admin = administrationWith(instance.keyturn, await newPersonalAccessToken(bootstrapped, client_id.split('@')[0]!))
  await stopRotating()
  other = (await everyRequest(admin, 'other')) as Requests
  for (const [index, kind] of CALLERS.entries()) callers.set(kind.role, await newCaller(kind, `own-${index}`))
}, 300_000)

afterAll(() => instance?.stop())

describe.each(CALLERS)('$caller', ({ role }) => {
  it.each(METHODS)('calls $path, which needs $permission, where its role says so [Spec §5]', async (method) => {
    const caller = callers.get(role)!
    for (const place of placesOf(caller)) {
      const request = requestAt(place, caller, method)
      if (request === undefined) continue
      const { status, body } = await caller.api.post(method.path, request)
      const code = body.code ?? 'ok'
      expect({ place, code, status }).toMatchObject({ place, code: expectedAt(place, caller, method, request) })
      if (code !== 'not_found' || role !== 'PROJECT_OWNER') continue
      // What it may not see looks as if it did not exist.
      const { body: unknown } = await caller.api.post(method.path, { ...request, ...nowhere(request) })
      expect(withoutIds(body)).toEqual(withoutIds(unknown))
    }
    if (method.path.endsWith('/UpdateRotationPolicy')) await stopRotating()
  })

  it('has changed what its role says, and nothing else', async () => {
    const caller = callers.get(role)!
    const { events } = await admin.audit.listAuditEvents({ actor: caller.userId, pageSize: 1000 })
    const changed = new Set(events.filter(({ outcome }) => outcome === 'ok').map(({ action }) => action))
    const expected = METHODS.filter((method) => {
      const {
        path,
        method: { idempotency },
      } = method
      const isWithoutChange = /\/(?:IntrospectToken|RefreshTrustedIssuerKeys)$/.test(path)
      if (isWithoutChange || idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) return false
      return placesOf(caller).some((place) => {
        const request = requestAt(place, caller, method)
        return request !== undefined && expectedAt(place, caller, method, request) === 'ok'
      })
    })
    expect([...changed].sort()).toEqual(expected.map(({ path }) => path).sort())
  })
})

describe('a stranger', () => {
  it('calls nothing', async () => {
    for (const { path } of METHODS) {
      const response = await instance.fetch(`/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      })
      expect({ path, status: response.status }).toEqual({ path, status: 401 })
      expect(await response.json()).toMatchObject({ code: 'unauthenticated' })
    }
  })
})

describe('the services', () => {
  it('have every method here', () => {
    expect(METHODS).toHaveLength(4 + 10 + 17 + 24 + 3 + 6 + 3 + 1 + 1 + 3 + 3 + 7)
    expect(Object.keys(other).sort()).toEqual(METHODS.map(({ path }) => path).sort())
  })
})

/** Only members of projects make a difference between all of them. */
function placesOf({ memberRole, role }: Kind): readonly Place[] {
  if (memberRole !== undefined) return ['other', 'own', 'itself']
  return role === 'IAM_OWNER_VIEWER' ? ['own'] : ['own', 'itself']
}

function requestAt(place: Place, caller: Caller, { path }: Method): JsonObject | undefined {
  return { own: caller.own, other, itself: caller.itself }[place][path]
}

function expectedAt(place: Place, { role, memberRole }: Caller, { permission }: Method, request: JsonObject): string {
  const hasAt = (needed: string) => {
    const holders = PERMISSION_TABLE.get(needed)!
    const isEnough = memberRole === undefined || place === 'own'
    return (holders.has(role) && isEnough) || (holders.has('itself') && place === 'itself')
  }
  const hasTarget = 'userId' in request || 'projectId' in request
  const hasSomewhere = PERMISSION_TABLE.get(permission)!.has(role) || PERMISSION_TABLE.get(permission)!.has('itself')
  if (!hasSomewhere) return 'permission_denied'
  if (!hasTarget || hasAt(permission)) return 'ok'
  return hasAt('userId' in request ? 'iam.user.read' : 'iam.project.read') ? 'permission_denied' : 'not_found'
}

/** The same ids for a user and a project that do not exist. */
function nowhere(request: JsonObject): JsonObject {
  return Object.fromEntries(['userId', 'projectId'].filter((name) => name in request).map((name) => [name, NOBODY]))
}

function withoutIds(body: object): string {
  return JSON.stringify({ ...body, details: undefined }).replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'id')
}

async function stopRotating(): Promise<void> {
  await admin.keys.updateRotationPolicy({ policy: { enabled: false }, updateMask: { paths: ['enabled'] } })
}

async function newCaller(kind: Kind, name: string): Promise<Caller> {
  const { users, projects } = admin
  const { project } = await projects.createProject({ name: `home-of-${name}` })
  const { serviceUser } = await users.createServiceUser({ projectId: project!.projectId, name })
  const { userId } = serviceUser!
  const secretIds: string[] = []
  for (let count = 0; count < 3; count += 1) {
    const { secret } = await users.generateClientSecret({ userId })
    secretIds.push(secret!.secretId)
  }
  const token = await newPersonalAccessToken(admin, userId)
  if (kind.instanceRole !== undefined) await users.setInstanceRoles({ userId, instanceRoles: [kind.instanceRole] })
  const own = await targetsOf(kind, name)
  const projectId = own['iam.project.v2.ProjectService/GetProject']!.projectId as string
  if (kind.memberRole !== undefined) await projects.setProjectMember({ projectId, userId, role: kind.memberRole })
  return {
    ...kind,
    userId,
    api: administrationWith(instance.keyturn, token),
    own,
    itself: about(userId, secretIds, own),
  }
}

/** Requests about targets of the caller's own, if it may change them. */
async function targetsOf({ role }: Kind, name: string): Promise<Requests> {
  if (role === 'IAM_KEY_OPERATOR') return { ...other, ...((await webKeyRequests(admin)) as Requests) }
  return role === 'PROJECT_OWNER' ? ((await everyRequest(admin, name, webKeyRequestsOf(other))) as Requests) : other
}

/** Those requests that are about web keys. */
function webKeyRequestsOf(requests: Requests): Requests {
  return Object.fromEntries(Object.entries(requests).filter(([path]) => path.includes('.WebKeyService/')))
}

/** Those requests that are about a user, about this one. */
function about(userId: string, [, first = '', second = '']: readonly string[], requests: Requests): Requests {
  const secretId: Readonly<Record<string, string>> = {
    'iam.user.v2.ServiceUserService/DeactivateClientSecret': first,
    'iam.user.v2.ServiceUserService/DeleteClientSecret': second,
  }
  const own = Object.entries(requests).filter(([, request]) => 'userId' in request)
  return Object.fromEntries(
    own.map(([path, request]) => {
      const id = secretId[path]
      return [path, { ...request, userId, ...(id === undefined ? {} : { secretId: id }) }]
    }),
  )
}
