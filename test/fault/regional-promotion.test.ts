/**
 * The primary region is lost for good while the other one is under load, and its standby is promoted.
 */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { eventually } from '../support/eventually.ts'
import { type Regions, startRegions } from './regions.ts'

const CLIENTS = 8
/** Tokens between two steps of the fault, so that each step is under load. */
const TOKENS_BETWEEN = 200

let regions: Regions | undefined

beforeEach(async () => {
  regions = await startRegions()
})
afterEach(() => regions?.stop())

it('refuses no token while the primary is killed and its standby promoted, and then takes changes', async () => {
  const { primary, regional, issuer, administrationAt } = regions!
  const { client_id, client_secret } = await primary.keyturn.admin()
  const endpoint = `${regional.keyturn.listenUrl}/oauth/v2/token`
  const tokens: string[] = []
  const failures: string[] = []
  let stopped = false
  const ask = async () => {
    while (!stopped) {
      const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret })
      const response = await fetch(endpoint, { method: 'POST', body })
      const answer = (await response.json()) as { access_token?: string }
      if (answer.access_token === undefined) failures.push(`${response.status} ${JSON.stringify(answer)}`)
      else tokens.push(answer.access_token)
    }
  }
  const load = Array.from({ length: CLIENTS }, ask)
  const issueMore = async () => {
    const enough = tokens.length + TOKENS_BETWEEN
    await eventually(() => expect(tokens.length).toBeGreaterThan(enough))
  }

  await issueMore()
  await primary.server.kill()
  await issueMore()
  await regional.server.query('select pg_promote()')
  await issueMore()
  const administration = await administrationAt(regional.keyturn)
  const { webKey } = await eventually(() =>
    administration.keys.createWebKey({ config: { config: { case: 'ed25519', value: {} } } }),
  )
  await administration.keys.activateWebKey({ keyId: webKey!.keyId })
  await issueMore()
  stopped = true
  await Promise.all(load)

  expect(failures).toEqual([])
  const keys = createRemoteJWKSet(new URL(`${regional.keyturn.listenUrl}/.well-known/openid-configuration/jwks`))
  const headers = new Set<string | undefined>()
  for (const token of tokens) headers.add((await jwtVerify(token, keys, { issuer })).protectedHeader.kid)
  expect(headers.size).toBe(2)
  const active = await regional.server.query("select key_id from web_keys where state = 'active'")
  expect(active).toEqual([{ key_id: webKey!.keyId }])
})
