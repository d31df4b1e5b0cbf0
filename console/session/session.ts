/**
 * Who is signed in, and what it may do, by the rules of the API. A one-time code in the address opens a session; the session itself is a
 * cookie that script cannot read.
 */
import { Code, ConnectError } from '@connectrpc/connect'
import { signal } from '@preact/signals'
import { ProjectMemberRole as WireMemberRole } from '../../gen/iam/project/v2/project_pb.js'
import { type ServiceUser, InstanceRole as WireInstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import {
  INSTANCE_ROLE_NAMES,
  type InstanceRole,
  type Permission,
  PROJECT_MEMBER_ROLE_NAMES,
  type ProjectMemberRole,
} from '../../src/domain/identities/permission.ts'
import { lackedPermission, type RoleHolder, reachesProject, reachOf } from '../../src/domain/identities/reach.ts'
import { forgetPlace } from '../navigation/route.ts'

/** The signed-in service user, as the server describes it. */
export interface SignedIn {
  readonly userId: string
  readonly name: string
  readonly clientId: string
  readonly expiresAt: string
  /** Those over the instance or over any project. */
  readonly permissions: readonly Permission[]
  readonly instanceRoles: readonly InstanceRole[]
  /** Its role over each project that it manages, by project id. */
  readonly managedProjects: Readonly<Record<string, ProjectMemberRole>>
  /** How long access tokens work that have no lifetime of their own. */
  readonly tokenLifetimeSeconds: number
}

/** What the page knows about the session. */
export type Session =
  | { readonly kind: 'opening' }
  | { readonly kind: 'signed-in'; readonly user: SignedIn }
  | SignedOut
  | Unreachable
  | { readonly kind: 'sign-out-failed'; readonly message: string }

export interface SignedOut {
  readonly kind: 'signed-out'
  /** Why, for the user; empty if there is nothing to say. */
  readonly notice: string
  /** Where people sign in with an OpenID provider; undefined if the server has none. */
  readonly signInPath: string | undefined
}

/** It could not be found out who is signed in. */
export interface Unreachable {
  readonly kind: 'unreachable'
  /** Why, in the words of the server. */
  readonly message: string
  /** What to tell the user later, if there is no session. */
  readonly notice: string
  /** Whether a sign-in link has been opened and not been used. */
  readonly hasLink: boolean
}

/** The session. */
export const session = signal<Session>({ kind: 'opening' })

/** The header that every request of the page has: script of another origin cannot set it. */
export const HEADER = 'x-keyturn-console'

/** Its value if a person caused the request, which counts as use of the session, and if the page makes it by itself. */
export const [PERSON, BACKGROUND] = ['1', 'background']

const PATH = '/console/session'
const UNAUTHENTICATED = 401
const TOO_MANY_REQUESTS = 429

/** The code of a link that the server has neither taken nor refused: it is gone from the address, and works for its minute. */
let unusedCode: string | undefined

/**
 * Signs in with the code in the address if there is one, and finds out who is signed in.
 *
 * @param reason What to tell the user if there is no session and no code.
 */
export async function openSession(reason = ''): Promise<void> {
  const opened = takeCode()
  // Nothing that was shown to another user stays.
  if (opened !== undefined) session.value = { kind: 'opening' }
  unusedCode = opened ?? unusedCode
  try {
    const notice = unusedCode === undefined ? reason : await redeem(unusedCode)
    unusedCode = undefined
    session.value = await readSession(notice)
  } catch (error) {
    const hasLink = unusedCode !== undefined
    session.value = { kind: 'unreachable', message: messageOf(error), notice: reason, hasLink }
  }
}

/** Opens a session when a sign-in link is opened in this tab: the browser does not load the page again for it. */
export function followSignInLinks(): void {
  addEventListener('hashchange', () => {
    if (codeInAddress() !== null) void openSession()
  })
}

/** The number of the last question what the user may do, and of the one whose answer is shown: answers may overtake each other. */
let [asked, answered] = [0, 0]

/** Finds out again what the signed-in user may do. A failure changes nothing: what fails next says why. */
export async function updatePermissions(): Promise<void> {
  asked += 1
  const question = asked
  const after = await readSession('').catch(() => undefined)
  const { value } = session
  if (question < answered || after?.kind !== 'signed-in' || value.kind !== 'signed-in') return
  if (after.user.userId !== value.user.userId) return
  answered = question
  session.value = after
}

/** Ends the session. */
export async function signOut(): Promise<void> {
  // Calls of the page that come too late are no news.
  session.value = { kind: 'opening' }
  try {
    const response = await fetch(PATH, { method: 'DELETE', headers: { [HEADER]: PERSON } })
    if (response.ok) await openSession('You have signed out.')
    else session.value = await signedOutHereOnly(response)
  } catch (error) {
    session.value = { kind: 'sign-out-failed', message: messageOf(error) }
  }
}

/** After a refusal that took the cookie away, this browser is signed out all the same. */
async function signedOutHereOnly(response: Response): Promise<Session> {
  const { message } = await refusalOf(response)
  const left = 'You are signed out in this browser only. The session ends by itself, after 30 minutes at the latest'
  const after = await readSession(`${left}: ${message}`)
  return after.kind === 'signed-out' ? after : { kind: 'sign-out-failed', message }
}

/** Goes to the sign-in page if a call failed because the session is over. */
export function noteEndOfSession(error: unknown): void {
  if (session.value.kind !== 'signed-in' || ConnectError.from(error).code !== Code.Unauthenticated) return
  session.value = { kind: 'opening' }
  void openSession('Your session has ended.')
}

/**
 * Whether the signed-in user has a permission somewhere, so that what it may not do is not offered. The API decides.
 *
 * Over one project or user, ask `mayWithProject` or `mayWithUser`.
 */
export function may(permission: Permission): boolean {
  return session.value.kind === 'signed-in' && session.value.user.permissions.includes(permission)
}

/** The code of the sign-in link. It is removed from the address, so that it is neither shown nor kept in the history. */
function takeCode(): string | undefined {
  const code = codeInAddress()
  if (code === null) return undefined
  forgetPlace()
  return code
}

function codeInAddress(): string | null {
  return new URLSearchParams(location.hash.slice(1)).get('code')
}

/** @returns What to say if the code is refused. @throws {Refusal} if it was neither refused nor taken. */
async function redeem(code: string): Promise<string> {
  const response = await fetch(PATH, {
    method: 'POST',
    headers: { [HEADER]: PERSON, 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  })
  if (response.ok) return ''
  const refusal = await refusalOf(response)
  if (response.status >= 500 || response.status === TOO_MANY_REQUESTS) throw refusal
  return refusal.message
}

/** @throws {Refusal} if the server cannot say who is signed in. */
async function readSession(notice: string): Promise<Session> {
  const response = await fetch(PATH, { headers: { [HEADER]: BACKGROUND } })
  if (response.ok) return { kind: 'signed-in', user: (await response.json()) as SignedIn }
  if (response.status !== UNAUTHENTICATED) throw await refusalOf(response)
  const { signInPath } = (await response.json()) as { signInPath?: string }
  return { kind: 'signed-out', notice, signInPath }
}

/** What the server says, and not the browser. */
class Refusal extends Error {}

async function refusalOf(response: Response): Promise<Refusal> {
  const { message } = (await response.json().catch(() => ({}))) as { message?: string }
  return new Refusal(message ?? NO_ANSWER)
}

const NO_ANSWER = 'the server did not answer'

function messageOf(error: unknown): string {
  return error instanceof Refusal ? error.message : NO_ANSWER
}

/** Whether the permission is over the whole instance. */
export function mayEverywhere(permission: Permission): boolean {
  const holder = signedIn()
  return holder !== undefined && reachOf(holder, permission).kind === 'instance'
}

/** Whether the permission reaches the project. */
export function mayWithProject(permission: Permission, projectId: string): boolean {
  const holder = signedIn()
  return holder !== undefined && reachesProject(reachOf(holder, permission), projectId)
}

/**
 * Whether the permission reaches the project of the user, and the user has none that the signed-in user lacks. Self service is not offered:
 * it is for machines.
 */
export function mayWithUser(permission: Permission, user: ServiceUser): boolean {
  const holder = signedIn()
  if (holder === undefined || !reachesProject(reachOf(holder, permission), user.projectId)) return false
  return lackedPermission(holder, rolesOf(user)) === undefined
}

function signedIn(): RoleHolder | undefined {
  if (session.value.kind !== 'signed-in') return undefined
  const { userId, instanceRoles, managedProjects } = session.value.user
  return { userId, instanceRoles, managedProjects: new Map(Object.entries(managedProjects)) }
}

/** Roles of a newer server, which this page does not know, count for nothing. */
function rolesOf({ instanceRoles, managedProjects }: ServiceUser): Omit<RoleHolder, 'userId'> {
  return {
    instanceRoles: INSTANCE_ROLE_NAMES.filter((name) => instanceRoles.includes(WireInstanceRole[name])),
    managedProjects: new Map(
      managedProjects.flatMap(({ projectId, role }) =>
        PROJECT_MEMBER_ROLE_NAMES.filter((name) => WireMemberRole[name] === role).map((name) => [projectId, name]),
      ),
    ),
  }
}
