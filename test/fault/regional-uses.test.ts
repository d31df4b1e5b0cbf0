/**
 * What tokens write, at a server of Keyturn on a hot standby: assertions and proofs that work once in all regions, and last uses of secrets.
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SignJWT } from 'jose'
import type { Administration } from '../support/administration.ts'
import { newProofKey, proofOf } from '../support/dpop.ts'
import type { Keyturn } from '../support/keyturn.ts'
import { type Regions, startRegions, untilReplayed } from './regions.ts'

const key = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const BURST = 20

let regions: Regions
let administration: Administration
/** Of the standby's region, without `KEYTURN_PRIMARY_DATABASE_URL`. */
let unconnected: Keyturn
let robot: { readonly userId: string; readonly clientId: string; readonly clientSecret: string }

beforeAll(async () => {
  regions = await startRegions()
  unconnected = await regions.start(regions.regional.server)
  administration = await regions.administrationAt(regions.primary.keyturn)
  const { project } = await administration.projects.createProject({ name: 'robots' })
  const { projectId } = project!
  const user = { projectId, name: 'proves itself', clientCredentialsEnabled: true }
  const { userId } = (await administration.users.createServiceUser(user)).serviceUser!
  const publicJwk = JSON.stringify(key.publicKey.export({ format: 'jwk' }))
  await administration.users.addUserKey({ userId, publicJwk })
  robot = { userId, ...(await administration.users.generateClientSecret({ userId })) }
  await untilReplayed(regions.primary.server, regions.regional.server)
})
afterAll(() => regions?.stop())

async function post({ listenUrl }: Keyturn, form: Record<string, string>, headers: Record<string, string> = {}) {
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...form })
  const response = await fetch(`${listenUrl}/oauth/v2/token`, { method: 'POST', body, headers })
  return { status: response.status, body: (await response.json()) as Record<string, string> }
}

const secretForm = () => ({ client_id: robot.clientId, client_secret: robot.clientSecret })

async function newAssertion(): Promise<Record<string, string>> {
  const now = Math.floor(Date.now() / 1000)
  const { clientId } = robot
  const claims = { iss: clientId, sub: clientId, aud: regions.issuer, jti: randomUUID(), iat: now, exp: now + 60 }
  return {
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign(key.privateKey),
  }
}

/** One after the other, as a number of requests for each status. */
const countsOf = (statuses: readonly number[]) =>
  Object.fromEntries([...Map.groupBy(statuses, (status) => status)].map(([status, { length }]) => [status, length]))

describe('in two regions', () => {
  it('an assertion that is presented in both at once works once', async () => {
    const { primary, regional } = regions
    for (let i = 0; i < BURST; i += 1) {
      const form = await newAssertion()
      const answers = await Promise.all([primary, regional].map(({ keyturn }) => post(keyturn, form)))
      expect(countsOf(answers.map(({ status }) => status))).toEqual({ 200: 1, 401: 1 })
    }
  })

  it('a DPoP proof that is presented in both at once works once', async () => {
    const { primary, regional, issuer } = regions
    const proofKey = await newProofKey()
    for (let i = 0; i < BURST; i += 1) {
      const dpop = await proofOf(proofKey, { url: `${issuer}/oauth/v2/token` })
      const answers = await Promise.all([primary, regional].map(({ keyturn }) => post(keyturn, secretForm(), { dpop })))
      expect(countsOf(answers.map(({ status }) => status))).toEqual({ 200: 1, 400: 1 })
    }
  })
})

describe('a regional server that cannot record uses', () => {
  it('refuses assertions and proofs with 503 and says why, without KEYTURN_PRIMARY_DATABASE_URL', async () => {
    const description = expect.stringContaining('its operator has not configured how')
    const refused = { status: 503, body: { error: 'temporarily_unavailable', error_description: description } }
    expect(await post(unconnected, await newAssertion())).toEqual(refused)
    const dpop = await proofOf(await newProofKey(), { url: `${regions.issuer}/oauth/v2/token` })
    expect(await post(unconnected, secretForm(), { dpop })).toEqual(refused)
    expect(await post(unconnected, secretForm())).toMatchObject({ status: 200 })
  })

  it('refuses them while the primary is out of reach, and issues tokens for secrets', async () => {
    const { regional, wire } = regions
    await wire.close()
    const description = expect.stringContaining('cannot reach the primary region')
    const refused = { status: 503, body: { error: 'temporarily_unavailable', error_description: description } }
    expect(await post(regional.keyturn, await newAssertion())).toEqual(refused)
    expect(await post(regional.keyturn, secretForm())).toMatchObject({ status: 200 })
  })
})
