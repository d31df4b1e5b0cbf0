/**
 * The matrix of methods and callers in time: the caller of every method loses its right while the call is under way.
 */
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql, type Transaction } from 'kysely'
import { ANY_USER } from '../../src/domain/changes.ts'
import { allows, allowsOverItself } from '../../src/domain/identities/permission.ts'
import { bumpVersion, readChangeTime } from '../../src/storage/change/instance-row.ts'
import type { Tables } from '../../src/storage/schema/tables.ts'
import { administrationWith, METHODS } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import {
  type Answer,
  type Call,
  type HeldCall,
  holdOverGrpc,
  holdOverHttp1,
  holdOverHttp2,
} from '../support/held-call.ts'
import { requestToken } from '../support/keyturn.ts'
import { type EveryRequest, everyRequest } from './every-request.ts'
import { type Instance, LOSSES, newPersonalAccessToken, withAccessToken } from './losses.ts'
import { startWatchedServers, type WatchedServers } from './watched-servers.ts'

type Method = (typeof METHODS)[number]

/** They change nothing of the instance, and cannot be called by GET. */
const WITHOUT_CHANGE = [
  'iam.user.v2.ServiceUserService/IntrospectToken',
  'iam.federation.v2.TrustedIssuerService/RefreshTrustedIssuerKeys',
]
const CHANGING = METHODS.filter(
  ({ path, method }) =>
    !WITHOUT_CHANGE.includes(path) && method.idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
)
const CREATE_LINK = 'iam.console.v2.ConsoleService/CreateSignInLink'
/** A change for which a role is needed, whoever it is about. */
const ADD_KEY = 'iam.user.v2.ServiceUserService/AddUserKey'

/**
 * What each loss is tried with: reading and changing, of the instance, of users, and of sessions. The loss of every role is tried with all,
 * over HTTP/2.
 */
const SAMPLE = [
  CREATE_LINK,
  ADD_KEY,
  'iam.user.v2.ServiceUserService/ListServiceUsers',
  'iam.user.v2.ServiceUserService/IntrospectToken',
  'iam.webkey.v2.WebKeyService/CreateWebKey',
  'iam.config.v2.ConfigService/ApplyConfiguration',
]

let servers: WatchedServers
let instance: Instance
let requests: EveryRequest
let calls = 0

beforeAll(async () => {
  servers = await startWatchedServers()
  const endpoint = servers.admin
  const bootstrapped = administrationWith(servers.first, await requestToken(endpoint))
  // Goes on working when the web key of the access token is revoked.
  const token = await newPersonalAccessToken(bootstrapped, endpoint.client_id.split('@')[0]!)
  const admin = administrationWith(servers.first, token)
  await admin.keys.updateRotationPolicy({ policy: { enabled: false }, updateMask: { paths: ['enabled'] } })
  requests = await everyRequest(admin)
  const { project } = await admin.projects.createProject({ name: 'callers' })
  instance = { admin, endpoint, projectId: project!.projectId }
})

afterAll(() => servers?.stop())

/** Begins a call and keeps its last byte back: on the server that changes the rights, or on the other one. */
const PROTOCOLS = {
  'over HTTP/1.1': (call: Call) => holdOverHttp1(servers.first.listenUrl, call),
  'over HTTP/2': (call: Call) => holdOverHttp2(servers.second.http2, call),
  'with gRPC': (call: Call) => holdOverGrpc(servers.second.grpc, call),
} as const

type Protocol = keyof typeof PROTOCOLS

const ALL_PROTOCOLS = Object.keys(PROTOCOLS) as Protocol[]

/** Calls of these methods that the gate has let through, by method and protocol. */
async function holdAll(
  methods: readonly Method[],
  token: string,
  protocols: readonly Protocol[],
): Promise<Map<string, HeldCall>> {
  const held = new Map<string, HeldCall>()
  // One after another: not more look-ups of a personal access token may wait than a server allows.
  for (const protocol of protocols) {
    const begun = methods.map(async ({ path, method }): Promise<HeldCall> => {
      calls += 1
      const call = await PROTOCOLS[protocol]({ method, message: requests[path]!, token, id: `call-${calls}` })
      held.set(`${path} ${protocol}`, call)
      return call
    })
    await servers.passedGate((await Promise.all(begun)).map(({ id }) => id))
  }
  return held
}

/** Ends calls and returns what the caller is told, by call. */
async function finishAll(held: ReadonlyMap<string, HeldCall>): Promise<Record<string, Answer>> {
  const answers = await Promise.all([...held].map(async ([name, call]) => [name, await call.finish()] as const))
  return Object.fromEntries(answers)
}

/** What the second server says to a caller who asks now for a change, and asks for nothing. */
async function probe(token: string): Promise<string | undefined> {
  const { body } = await administrationWith(servers.second, token).post(ADD_KEY, { nothing: 1 })
  return body.code
}

async function eventsOf(userId: string) {
  return (await instance.admin.audit.listAuditEvents({ actor: userId, pageSize: 1000 })).events
}

/** The methods with which a user has changed something. */
async function changesOf(userId: string): Promise<string[]> {
  return (await eventsOf(userId)).filter(({ outcome }) => outcome === 'ok').map(({ action }) => action)
}

describe.each(LOSSES)('a call that is under way when $loss', ({ newCaller, takeAway, left }) => {
  const refusal =
    left === 'no identity'
      ? { code: 'unauthenticated', challenge: expect.stringMatching(/^Bearer error="invalid_token"/) }
      : { code: 'permission_denied', challenge: expect.stringMatching(/^Bearer error="insufficient_scope"/) }
  const answerTo = ({ permission, path }: Method) => {
    if (left === 'no identity') return refusal
    if (left === 'IAM_OWNER_VIEWER' && allows([left], permission)) return { code: 'ok' }
    if (!allowsOverItself(permission)) return refusal
    // Everybody has the right over itself, and these requests are about others. A list has the caller in it.
    if (!Object.hasOwn(requests[path] as object, 'userId')) return { code: 'ok' }
    return left === 'IAM_OWNER_VIEWER' ? refusal : { code: 'not_found' }
  }

  const tried =
    left === 'no role'
      ? { methods: METHODS, protocols: ['over HTTP/2'] as const }
      : { methods: METHODS.filter(({ path }) => SAMPLE.includes(path)), protocols: ALL_PROTOCOLS }

  it('is refused when its body is complete, whatever the method, the protocol and the replica [RFC 6750 §3.1]', async () => {
    const caller = await newCaller(instance)
    await eventually(async () => expect(await probe(caller.token)).toBe('invalid_argument'))
    const held = await holdAll(tried.methods, caller.token, tried.protocols)

    await takeAway(instance, caller)
    await eventually(async () => expect(await probe(caller.token)).toBe(refusal.code))

    const answers = Object.entries(await finishAll(held)).map(([name, { body: _, ...told }]) => [name, told])
    const expected = [...held.keys()].map((name) => {
      const method = METHODS.find(({ path }) => name.startsWith(`${path} `))!
      return [name, answerTo(method)] as const
    })
    expect(Object.fromEntries(answers)).toEqual(Object.fromEntries(expected))
    // A viewer may sign in at the console.
    const links = expected.filter(([name, { code }]) => name.startsWith(CREATE_LINK) && code === 'ok')
    expect(await changesOf(caller.userId)).toEqual(links.map(() => CREATE_LINK))
    // Who the probe came from is known only as long as the token proves it.
    const probes = left === 'no identity' ? 0 : 1
    const refusals = probes + expected.filter(([, { code }]) => code !== 'ok').length
    await eventually(async () => {
      const events = await eventsOf(caller.userId)
      const written = events.filter(({ outcome }) => outcome !== 'ok').length
      expect(written).toBeLessThanOrEqual(refusals)
      // So many at once (src/app/audit/refusal-limits.ts). How many of the others are written depends on how long they took.
      expect(written).toBeGreaterThanOrEqual(Math.min(refusals, 200))
    })
  })
})

/** How many changes wait for the lock at once: fewer than a server has database connections for changes. */
const FIRST = 3

/** Waits until a change waits for the lock of the instance. */
async function changeWaits({ db }: WatchedServers['database']): Promise<void> {
  await eventually(async () => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    expect(rows).not.toEqual([])
  })
}

/**
 * Finishes calls of a user whose right is taken away when they have passed every check before the lock. The first ones wait for the lock while
 * the right is there, and get it when it is gone. The others follow one by one.
 */
async function finishWithout(
  held: ReadonlyMap<string, HeldCall>,
  userId: string,
  takeAway: (trx: Transaction<Tables>) => Promise<unknown>,
): Promise<Record<string, Answer>> {
  const { database } = servers
  const user = servers.holdAfterBody(userId)
  let finished = 0
  const finishing = [...held].map(async ([name, call]) => {
    const answer = await call.finish()
    finished += 1
    return [name, answer] as const
  })
  await user.passedBody(held.size)
  let released = 0
  const release = () => {
    user.release()
    released += 1
  }
  await database.db.transaction().execute(async (trx) => {
    // A busy machine may take longer than the limit of the server.
    await sql`set local idle_in_transaction_session_timeout = '60s'`.execute(trx)
    await trx.selectFrom('instance').selectAll().forUpdate().execute()
    await takeAway(trx)
    await bumpVersion(trx, database, { at: await readChangeTime(trx), users: ANY_USER })
    while (released < FIRST) release()
    await changeWaits(database)
  })
  while (released < held.size) {
    release()
    await eventually(() => expect(finished).toBe(released))
  }
  return Object.fromEntries(await Promise.all(finishing))
}

describe('a change that is under way when its caller loses the right to it', () => {
  it('is refused under the lock, on a replica that has not heard of the loss, whatever was done before', async () => {
    const caller = await withAccessToken(instance)
    await eventually(async () => expect(await probe(caller.token)).toBe('invalid_argument'))
    // Which protocol makes no difference there.
    const held = await holdAll(CHANGING, caller.token, ['over HTTP/2'])

    const answers = await finishWithout(held, caller.userId, (trx) =>
      trx.updateTable('service_users').set({ instance_roles: [] }).where('user_id', '=', caller.userId).execute(),
    )

    const codes = Object.entries(answers).map(([name, { code }]) => [name, code])
    const ownSecrets = CHANGING.filter(({ permission }) => allowsOverItself(permission)).map(({ path }) => path)
    const codeOf = (name: string) =>
      ownSecrets.some((path) => name.startsWith(`${path} `)) ? 'not_found' : 'permission_denied'
    expect(codes).toEqual([...held.keys()].map((name) => [name, codeOf(name)]))
    expect(await changesOf(caller.userId)).toEqual([])
  })
})

// The last one, because it does what the others were kept from.
describe('each of these requests', () => {
  it('succeeds for a caller who keeps the right, and changes something if its method can', async () => {
    expect(Object.keys(requests).sort()).toEqual(METHODS.map(({ path }) => path).sort())
    const { userId, token } = await withAccessToken(instance)
    const owner = administrationWith(servers.first, token)
    for (const { path } of METHODS) {
      const { status, body } = await owner.post(path, requests[path])
      expect({ path, status, code: body.code }).toEqual({ path, status: 200, code: undefined })
    }
    expect((await changesOf(userId)).sort()).toEqual(CHANGING.map(({ path }) => path).sort())
  })
})
