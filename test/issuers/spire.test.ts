/**
 * JWT-SVIDs of a real SPIRE, through a rotation of its keys.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { createTokenSource } from '../../src/client/index.ts'
import { eventually } from '../support/eventually.ts'
import { openTerminal, type Terminal } from '../support/terminal.ts'
import { describeUnless } from '../support/unless.ts'
import { runSection } from './page-commands.ts'
import { NO_SPIRE, type Spire, SVID_ISSUER, startSpire, TRUST_DOMAIN } from './spire.ts'
import { type Exchanged, exchange } from './token-exchange.ts'

const CHECKOUT = `${TRUST_DOMAIN}/checkout`
const OTHER = `${TRUST_DOMAIN}/other`

if (NO_SPIRE !== undefined) process.stderr.write(`Skipped SPIRE: ${NO_SPIRE}\n`)

describeUnless(NO_SPIRE)('a JWT-SVID of SPIRE [draft-ietf-oauth-spiffe-client-auth]', () => {
  let spire: Spire
  let terminal: Terminal
  let clientId: string
  let folder: string

  beforeAll(async () => {
    ;[spire, terminal] = await Promise.all([startSpire(CHECKOUT, OTHER), openTerminal()])
    await terminal.lines('projects', 'create', 'shop')
    clientId = (await terminal.lines('users', 'create', 'checkout', '--project', 'shop'))[0]!.replace('created ', '')
    folder = join(terminal.server.dataDir, 'page')
    await mkdir(folder)
  })
  afterAll(async () => {
    await terminal?.close()
    await spire?.stop()
  })

  const svidOf = (spiffeId: string, audience = terminal.server.baseUrl) => spire.fetchJwtSvid(spiffeId, audience)
  const send = (jwt: string, type: 'jwt-spiffe' | 'jwt-bearer' = 'jwt-spiffe', client?: string): Promise<Exchanged> =>
    exchange(terminal.server, { jwt, type, clientId: client })
  const kidOf = (jwt: string) => decodeProtectedHeader(jwt).kid

  it('is accepted after the commands of the page', async () => {
    const printed = await runSection('SPIFFE', {
      folder,
      dataDir: terminal.server.dataDir,
      instead: { 'https://tokens.example.com': terminal.server.baseUrl, 'checkout@shop': clientId },
      functions: `
        spire-server() { command spire-server "$@" -socketPath "${spire.sockets['spire-server']}"; }
        spire-agent() { command spire-agent "$@" -spiffeID ${CHECKOUT} -socketPath "${spire.sockets['spire-agent']}"; }`,
    })
    expect(printed).toMatch(/^accepted, by the federated identity \S+\n$/m)
  })

  it('gets a token, with client_id, without, and with the SPIFFE ID in its place', async () => {
    const svid = await svidOf(CHECKOUT)
    expect(decodeProtectedHeader(svid)).toMatchObject({ alg: 'ES256', typ: 'JWT' })
    for (const client of [clientId, undefined, CHECKOUT]) {
      expect(await send(svid, 'jwt-spiffe', client)).toMatchObject({ status: 200, claims: { client_id: clientId } })
    }
  })

  it('gets none for another workload, or with another audience', async () => {
    const refused = { status: 401, error: 'invalid_client' }
    expect(await send(await svidOf(OTHER), 'jwt-spiffe', clientId)).toEqual(refused)
    expect(await send(await svidOf(OTHER))).toEqual(refused)
    expect(await send(await svidOf(CHECKOUT, 'https://vault.example'), 'jwt-spiffe', clientId)).toEqual(refused)
  })

  it('gets a token as any JWT of its issuer, once that is trusted too [RFC 7523 §2.2]', async () => {
    const svid = await svidOf(CHECKOUT)
    expect(decodeJwt(svid).iss).toBe(SVID_ISSUER)
    expect(await send(svid, 'jwt-bearer')).toMatchObject({ status: 401 })
    await terminal.lines('federation', 'issuers', 'create', SVID_ISSUER, '--keys', join(folder, 'shop.bundle.json'))
    const identity = ['--issuer', SVID_ISSUER, '--subject', CHECKOUT]
    await terminal.lines('federation', 'identities', 'add', clientId, ...identity)
    for (const type of ['jwt-bearer', 'jwt-spiffe'] as const)
      expect(await send(svid, type)).toMatchObject({ status: 200, claims: { client_id: clientId } })
  })

  it('is sent by keyturn/client from a file', async () => {
    const tokenFile = join(folder, 'svid')
    await writeFile(tokenFile, await svidOf(CHECKOUT))
    const tokens = createTokenSource({ issuer: terminal.server.baseUrl, tokenFile })
    expect(decodeJwt(await tokens.token())).toMatchObject({ client_id: clientId })
  })

  it('is accepted through a rotation of the keys, until its key is out of the bundle', async () => {
    const authority = async (step: string, ...args: string[]) =>
      JSON.parse(await spire.command('spire-server', 'localauthority', 'jwt', step, ...args, '-output', 'json'))
    const updateKeys = async () => {
      const bundle = join(folder, 'rotated.bundle.json')
      await writeFile(bundle, await spire.command('spire-server', 'bundle', 'show', '-format', 'spiffe'))
      await terminal.lines('federation', 'issuers', 'update', TRUST_DOMAIN, '--keys', bundle)
    }

    const before = await svidOf(CHECKOUT)
    const oldId = String(kidOf(before))
    const { prepared_authority } = await authority('prepare')
    const newId: string = prepared_authority.authority_id
    await updateKeys()
    const during = await svidOf(CHECKOUT)
    expect(kidOf(during)).toBe(oldId)
    for (const svid of [before, during]) expect(await send(svid)).toMatchObject({ status: 200 })

    await authority('activate', '-authorityID', newId)
    // The agent hands out what it has until it expires, or its key is tainted.
    await authority('taint', '-authorityID', oldId)
    const after = await eventually(async () => {
      const svid = await svidOf(CHECKOUT)
      expect(kidOf(svid)).toBe(newId)
      return svid
    })
    for (const svid of [before, during, after]) expect(await send(svid)).toMatchObject({ status: 200 })

    await authority('revoke', '-authorityID', oldId)
    await updateKeys()
    for (const svid of [before, during]) {
      expect(decodeJwt(svid).exp).toBeGreaterThan(Date.now() / 1000)
      expect(await send(svid)).toEqual({ status: 401, error: 'invalid_client' })
    }
    expect(await send(after)).toMatchObject({ status: 200 })
  })
})
