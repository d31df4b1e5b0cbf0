/**
 * What an attacker gets who can write to the database of a server, and has no master key: no token, and no access.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { calculateJwkThumbprint, decodeJwt, type JWK, SignJWT } from 'jose'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { administrationWith } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import {
  type AdminCredentials,
  type Keyturn,
  removeServers,
  requestToken,
  startKeyturnInProcess,
} from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'

const masterKey = generateMasterKey()
const PROJECT = 'keyturn'
const KEY_SET = '/.well-known/openid-configuration/jwks'

let postgres: TestPostgres
let url: string
let server: Keyturn
let admin: AdminCredentials
let token: string
beforeAll(async () => {
  postgres = sharedPostgres()
  url = await postgres.createMigratedDatabase()
  server = await startKeyturnInProcess({ env: { KEYTURN_DATABASE_URL: url, KEYTURN_MASTER_KEYS: masterKey } })
  admin = await server.admin()
  token = await requestToken(admin)
})
afterAll(async () => {
  await removeServers(server)
  await postgres?.stop()
})

/** Starts and stops another replica. */
async function startAnother(masterKeys: string): Promise<void> {
  const env = { KEYTURN_DATABASE_URL: url, KEYTURN_MASTER_KEYS: masterKeys }
  await (await startKeyturnInProcess({ env, dataDir: server.dataDir })).stop()
}

const write = (text: string, ...values: unknown[]) => postgres.query(text, values, url)
/** What every replica looks for once a second. */
const announce = () => write('update instance set version = version + 1, changed_at = now()')
const sha256 = (text: string) => createHash('sha256').update(text).digest()

/** An owner whom no server has in memory. Roles are believed: SECURITY.md says so. */
async function plantOwner(): Promise<string> {
  const userId = randomUUID()
  await write(
    `insert into service_users (user_id, project_id, name, enabled, instance_roles, settings, creation_date)
      select $1, project_id, 'planted', true, array['IAM_OWNER'], '{"clientCredentialsEnabled":true}', now() from projects where name = '${PROJECT}'`,
    userId,
  )
  return userId
}

async function callApi(bearer: string): Promise<number> {
  const response = await fetch(`${server.listenUrl}/iam.webkey.v2.WebKeyService/ListWebKeys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: '{}',
  })
  return response.status
}

async function askForToken(form: Record<string, string>) {
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...form })
  const response = await fetch(admin.token_endpoint, { method: 'POST', body })
  return { status: response.status, answer: (await response.json()) as Record<string, unknown> }
}

/** A token that is right in everything but its key. */
function forge(key: KeyObject, kid: string): Promise<string> {
  const { iat, exp, ...claims } = decodeJwt(token)
  return new SignJWT({ ...claims, jti: randomUUID() })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(key)
}

describe('an attacker who can write to the database, without a master key,', () => {
  it('makes no client secret that works', async () => {
    const userId = await plantOwner()
    const secret = `ktn_cs_${randomBytes(32).toString('base64url')}`
    await write(
      `insert into credentials (credential_id, user_id, kind, hash, creation_date)
        values ($1, $2, 'client_secret', $3, now())`,
      randomUUID(),
      userId,
      sha256(secret),
    )
    const { status, answer } = await askForToken({ client_id: `${userId}@${PROJECT}`, client_secret: secret })
    expect({ status, error: answer.error }).toEqual({ status: 401, error: 'invalid_client' })
  })

  it('makes no personal access token that works', async () => {
    const userId = await plantOwner()
    const planted = `ktn_pat_${randomBytes(32).toString('base64url')}`
    await write(
      `insert into credentials (credential_id, user_id, kind, hash, creation_date, expiration_date)
        values ($1, $2, 'personal_access_token', $3, now(), now() + interval '1 day')`,
      randomUUID(),
      userId,
      sha256(planted),
    )
    expect(await callApi(planted)).toBe(401)
  })

  it('makes no key of a service user that works', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const userId = await plantOwner()
    await write(
      `insert into credentials (credential_id, user_id, kind, content, creation_date, mac)
        values ($1, $2, 'user_key', $3, now(), $4)`,
      randomUUID(),
      userId,
      JSON.stringify({ publicJwk: publicKey.export({ format: 'jwk' }) }),
      randomBytes(32),
    )
    const clientId = `${userId}@${PROJECT}`
    const assertion = await new SignJWT({ iss: clientId, sub: clientId, jti: randomUUID() })
      .setProtectedHeader({ alg: 'ES256' })
      .setAudience(server.baseUrl)
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(privateKey)
    const { status, answer } = await askForToken({
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    })
    expect(answer.access_token).toBeUndefined()
    expect(status).toBeGreaterThanOrEqual(500)
    await eventually(() => expect(server.output().stderr).toContain('its mac does not fit'))
  })

  it('makes no key of a trusted issuer that works', async () => {
    const { issuers, identities } = administrationWith(server, token)
    const issuer = 'https://issuer.example'
    const source = { case: 'jwksUrl', value: 'https://127.0.0.1:1/jwks' } as const
    const { trustedIssuer } = await issuers.createTrustedIssuer({ issuer, keys: { source } })
    const { issuerId } = trustedIssuer!
    const userId = await plantOwner()
    await identities.addFederatedIdentity({ userId, issuerId, subject: 'robot' })
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const keys = [publicKey.export({ format: 'jwk' })]
    const content = JSON.stringify({ keys: { kind: 'given', keys }, algorithms: ['ES256'], maxLifetimeSeconds: 3600 })
    await write('update trusted_issuers set content = $1', content)
    await announce()
    const refusal = `trusted issuer ${issuerId} in the database is not valid: its mac does not fit`
    await eventually(() => expect(server.output().stderr).toContain(refusal))
    const assertion = await new SignJWT({ iss: issuer, sub: 'robot' })
      .setProtectedHeader({ alg: 'ES256' })
      .setAudience(server.baseUrl)
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(privateKey)
    const { status, answer } = await askForToken({
      client_id: `${userId}@${PROJECT}`,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    })
    expect({ status, token: answer.access_token }).toEqual({ status: 503, token: undefined })
    await write('delete from trusted_issuers')
    await announce()
    await eventually(async () => expect(await callApi(token)).toBe(200))
  })

  it('makes no web key that is published, or whose tokens are accepted, also not at the next start', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = publicKey.export({ format: 'jwk' })
    const keyId = await calculateJwkThumbprint(jwk as JWK)
    await write(
      `insert into web_keys (key_id, algorithm, state, public_jwk, sealed_private_key, creation_date, mac)
        values ($1, 'ES256', 'initial', $2, 'sealed', now(), (select mac from web_keys limit 1))`,
      keyId,
      JSON.stringify(jwk),
    )
    await announce()
    const refusal = `web key ${keyId} in the database is not valid: its mac does not fit`
    await eventually(() => expect(server.output().stderr).toContain(refusal))
    const keySet = (await (await fetch(`${server.listenUrl}${KEY_SET}`)).json()) as { keys: { kid: string }[] }
    expect(keySet.keys.map(({ kid }) => kid)).not.toContain(keyId)
    // The replica knows that there is a newer version, so it does not judge the key; what matters is that it does not accept it.
    expect(await callApi(await forge(privateKey, keyId))).toBe(503)

    await expect(startAnother(masterKey)).rejects.toThrow(refusal)
    await write('delete from web_keys where key_id = $1', keyId)
  })

  it('cannot put another sealed text in the place of the integrity key', async () => {
    const before = 'the integrity key of the instance cannot be opened: '
    await expect(startAnother(generateMasterKey())).rejects.toThrow(`${before}master key "`)
    const [row] = await postgres.query<{ sealed: string }>(
      'select sealed_integrity_key as sealed from instance',
      [],
      url,
    )
    await write('update instance set sealed_integrity_key = (select sealed_private_key from web_keys limit 1)')
    await expect(startAnother(masterKey)).rejects.toThrow(`${before}it was sealed for something else`)
    await write('update instance set sealed_integrity_key = $1', row!.sealed)
  })
})
