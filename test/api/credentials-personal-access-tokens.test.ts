import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import { type Administration, administrationOf, administrationWith, refusalOf } from '../support/administration.ts'
import type { Keyturn } from '../support/keyturn.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

const HOUR = 3_600_000

let instance: OAuthInstance
let replica: Keyturn
let admin: Administration
let userId: string
let token: string
let tokenId: string

beforeAll(async () => {
  instance = await startOAuthInstance()
  replica = await instance.startReplica()
  admin = await administrationOf(instance.keyturn)
})

beforeEach(async () => {
  ;({ userId } = await instance.addRobot())
  await admin.users.setInstanceRoles({ userId, instanceRoles: [InstanceRole.IAM_OWNER_VIEWER] })
  const created = await admin.users.createPersonalAccessToken({
    userId,
    expirationDate: timestampFromDate(new Date(Date.now() + HOUR)),
  })
  token = created.token
  tokenId = created.personalAccessToken!.tokenId
})

afterAll(() => instance?.stop())

/** Reads from every service, on one replica. */
async function readEverything(server: Keyturn): Promise<void> {
  const { webKeys, projects, users, audit } = administrationWith(server, token)
  await webKeys.listWebKeys({})
  await projects.listProjects({})
  await users.listServiceUsers({})
  await audit.listAuditEvents({})
}

async function expectRefused(): Promise<void> {
  for (const server of [replica, instance.keyturn]) {
    const error = await administrationWith(server, token)
      .projects.listProjects({})
      .catch((reason: unknown) => ConnectError.from(reason))
    if (!(error instanceof ConnectError)) throw new Error('the token was accepted')
    expect(error.code).toBe(Code.Unauthenticated)
    expect(error.metadata.get('www-authenticate')).toMatch(/^Bearer error="invalid_token"/)
  }
}

describe('a personal access token', () => {
  it('lives for a year at most', async () => {
    const create = (days: number) =>
      admin.users.createPersonalAccessToken({
        userId,
        expirationDate: timestampFromDate(new Date(Date.now() + days * 24 * HOUR)),
      })
    expect(await refusalOf(create(366))).toMatchObject({
      code: 'InvalidArgument',
      reason: 'EXPIRATION_TOO_LATE',
      message: expect.stringContaining('at most 365 days after it is created'),
    })
    expect((await create(365)).token).toMatch(/^ktn_pat_/)
  })

  it('is accepted by all services of all replicas', async () => {
    for (const server of [instance.keyturn, replica]) await readEverything(server)
  })

  it('is refused on every replica as soon as it is revoked', async () => {
    await readEverything(replica)
    await admin.users.revokePersonalAccessToken({ userId, tokenId })
    await expectRefused()
  })

  it('is refused when it has expired', async () => {
    await instance.seed.change(async (trx) => {
      const [creation_date, expiration_date] = [new Date(Date.now() - 2 * HOUR), new Date(Date.now() - HOUR)]
      await trx
        .updateTable('credentials')
        .set({ creation_date, expiration_date })
        .where('credential_id', '=', tokenId)
        .execute()
    })
    await expectRefused()
  })

  it('is refused while its user is disabled, and when it is deleted', async () => {
    await admin.users.disableServiceUser({ userId })
    await expectRefused()
    await admin.users.enableServiceUser({ userId })
    await readEverything(replica)
    await admin.users.deleteServiceUser({ userId })
    await expectRefused()
  })

  it.each([
    ['that does not exist and has no tag', () => `ktn_pat_${'A'.repeat(43)}`],
    ['without its tag', () => token.slice(0, -16)],
    ['with the tag of another one', () => `ktn_pat_${'A'.repeat(43)}${token.slice(-16)}`],
    ['with a character less', () => token.slice(0, -1)],
  ])('%s is refused', async (_, wrong) => {
    token = wrong()
    await expectRefused()
  })

  it('is refused with the scheme DPoP, as if it were bound to a key', async () => {
    const response = await fetch(new URL('/iam.project.v2.ProjectService/ListProjects', instance.keyturn.listenUrl), {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `DPoP ${token}` },
      body: '{}',
    })
    expect({ status: response.status, text: await response.text() }).toMatchObject({
      status: 401,
      text: expect.stringContaining('not bound to a key'),
    })
  })

  it('gets no access token: it is no secret of the client', async () => {
    const { serviceUser } = await admin.users.getServiceUser({ userId })
    const form = { grant_type: 'client_credentials', client_id: serviceUser!.clientId, client_secret: token }
    expect((await instance.postForm(form)).status).toBe(401)
  })

  it('is in no log and no list', async () => {
    await readEverything(instance.keyturn)
    const listed = await admin.post('iam.user.v2.ServiceUserService/ListPersonalAccessTokens', { userId })
    expect(JSON.stringify(listed.body)).not.toContain('ktn_pat_')
    expect(instance.keyturn.output().stderr + replica.output().stderr).not.toContain('ktn_pat_')
  })
})
