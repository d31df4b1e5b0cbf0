import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Administration, administrationWith, METHODS, refusalOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { type Keyturn, requestToken } from '../support/keyturn.ts'
import { MAX_STALENESS_SECONDS, PRIMARY_URL, type Regions, startRegions } from './regions.ts'

let regions: Regions
let administration: Administration
let robot: { readonly userId: string; readonly clientId: string; readonly clientSecret: string }

beforeAll(async () => {
  regions = await startRegions()
  administration = await regions.administrationAt(regions.primary.keyturn)
  const { project } = await administration.projects.createProject({ name: 'robots' })
  const { projectId } = project!
  const { serviceUser } = await administration.users.createServiceUser({
    projectId,
    name: 'gets tokens',
    clientCredentialsEnabled: true,
  })
  const { userId } = serviceUser!
  robot = { userId, ...(await administration.users.generateClientSecret({ userId })) }
})
afterAll(() => regions?.stop())

const tokenAt = ({ listenUrl }: Keyturn) =>
  requestToken(
    {
      base_url: listenUrl,
      token_endpoint: `${listenUrl}/oauth/v2/token`,
      client_id: robot.clientId,
      client_secret: robot.clientSecret,
    },
    'openid',
  )

const keySetOf = async ({ listenUrl }: Keyturn) => {
  const response = await fetch(`${listenUrl}/.well-known/openid-configuration/jwks`)
  return { status: response.status, text: await response.text() }
}

const readyzOf = async ({ listenUrl }: Keyturn) => {
  const response = await fetch(`${listenUrl}/readyz`)
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

/** A change, and whether it was refused for want of a primary. */
const createKeyAt = async (keyturn: Keyturn) =>
  (await regions.administrationAt(keyturn)).post('iam.webkey.v2.WebKeyService/CreateWebKey', {
    config: { ed25519: {} },
  })

describe('a server on a hot standby', () => {
  it('says that it is on a standby, and for how long it has not heard of its primary', async () => {
    expect(await readyzOf(regions.regional.keyturn)).toEqual({
      status: 200,
      body: { status: 'ready', database: 'standby', staleness_seconds: expect.any(Number) },
    })
    expect((await readyzOf(regions.primary.keyturn)).body).toEqual({ status: 'ready' })
  })

  it('follows the changes of the primary by comparing versions', async () => {
    const { primary, regional } = regions
    const { webKey } = await administration.keys.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
    const { keyId } = webKey!
    await eventually(async () => expect((await keySetOf(regional.keyturn)).text).toContain(keyId))
    await administration.keys.activateWebKey({ keyId })
    await eventually(async () => {
      const [header = ''] = (await tokenAt(regional.keyturn)).split('.')
      expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toMatchObject({ kid: keyId })
    })
    expect(await keySetOf(regional.keyturn)).toEqual(await keySetOf(primary.keyturn))
  })

  it('answers what reads, and refuses every method that changes something with the address of the primary', async () => {
    const { token } = administration
    for (const { path, method } of METHODS) {
      const response = await fetch(`${regions.regional.keyturn.listenUrl}/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{}',
      })
      const text = await response.text()
      const isChange = !/^(Get|List|Introspect|Follow|Export|Plan|Preview)/.test(method.name)
      expect({ path, refused: text.includes('PRIMARY_REGION') || text.includes('failed_precondition') }).toEqual({
        path,
        refused: isChange,
      })
    }
    const refused = await createKeyAt(regions.regional.keyturn)
    expect(refused.body).toMatchObject({ code: 'failed_precondition', message: expect.stringContaining(PRIMARY_URL) })
    expect(JSON.stringify(refused.body)).toContain('"primary_url":"')
  })
})

describe('a standby that hears nothing of its primary', () => {
  it('serves tokens until the staleness limit, refuses them after it, and serves again when it follows', async () => {
    const { regional } = regions
    const { keyturn, server } = regional
    const inMonth = { seconds: BigInt(Math.floor(Date.now() / 1000) + 30 * 86_400) }
    const [owner = ''] = (await regions.primary.keyturn.admin()).client_id.split('@')
    const personal = await administration.users.createPersonalAccessToken({ userId: owner, expirationDate: inMonth })
    const readWithIt = () => administrationWith(keyturn, personal.token).instance.getInstance({})
    await eventually(readWithIt)
    const pausedAt = performance.now()
    await server.query('select pg_wal_replay_pause()')
    await administration.users.revokePersonalAccessToken({
      userId: owner,
      tokenId: personal.personalAccessToken!.tokenId,
    })
    await tokenAt(keyturn)
    await readWithIt()
    // When the last request was sent that it answered as ready: this process may have stopped since.
    let lastReadyAt = pausedAt
    await eventually(async () => {
      const askedAt = performance.now()
      const { status } = await readyzOf(keyturn)
      if (status === 200) lastReadyAt = askedAt
      expect(status).toBe(503)
    })
    const secondsTo = (at: number) => (at - pausedAt) / 1000
    // The newest heartbeat may have been on its way for an interval when the replay stopped.
    expect(secondsTo(performance.now())).toBeGreaterThan(MAX_STALENESS_SECONDS - 8)
    expect(secondsTo(lastReadyAt)).toBeLessThan(MAX_STALENESS_SECONDS + 3)
    expect((await readyzOf(keyturn)).body).toMatchObject({
      reason: expect.stringContaining('the standby has received no heartbeat'),
    })
    await expect(tokenAt(keyturn)).rejects.toThrow('temporarily_unavailable')
    expect((await keySetOf(keyturn)).status).toBe(503)
    expect(await refusalOf(readWithIt())).toMatchObject({ reason: 'STORAGE_UNAVAILABLE' })
    await server.query('select pg_wal_replay_resume()')
    await eventually(() => tokenAt(keyturn))
    expect((await readyzOf(keyturn)).status).toBe(200)
    expect(await refusalOf(readWithIt())).toMatchObject({ reason: 'TOKEN_INVALID' })
  })
})

describe('a standby that is promoted', () => {
  it('takes changes without a restart of its server', async () => {
    const { primary, regional } = regions
    await primary.keyturn.stop()
    await primary.server.kill()
    await regional.server.query('select pg_promote()')
    await eventually(async () => expect((await createKeyAt(regional.keyturn)).status).toBe(200))
    expect((await readyzOf(regional.keyturn)).body).toEqual({ status: 'ready' })
    expect(regional.keyturn.output().stderr).toContain('the database has been promoted')
  })
})
