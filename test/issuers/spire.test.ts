/**
 * JWT-SVIDs of a real SPIRE, through rotations of its keys.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { createTokenSource } from '../../packages/client/src/index.ts'
import { eventually } from '../support/eventually.ts'
import { openTerminal, type Terminal } from '../support/terminal.ts'
import { describeUnless } from '../support/unless.ts'
import { CERTIFICATE } from './certificate.ts'
import { runSection } from './page-commands.ts'
import { NO_SPIRE, type Spire, startSpire, TRUST_DOMAIN } from './spire.ts'
import { type Exchanged, exchange } from './token-exchange.ts'

const CHECKOUT = `${TRUST_DOMAIN}/checkout`
const OTHER = `${TRUST_DOMAIN}/other`
const REFUSED = { status: 401, error: 'invalid_client' }

if (NO_SPIRE !== undefined) process.stderr.write(`Skipped SPIRE: ${NO_SPIRE}\n`)

describeUnless(NO_SPIRE)('a JWT-SVID of SPIRE [draft-ietf-oauth-spiffe-client-auth]', () => {
  let spire: Spire
  let terminal: Terminal
  let clientId: string
  let folder: string

  beforeAll(async () => {
    const settings = { env: { KEYTURN_ISSUER_NETWORKS: '127.0.0.1, ::1' } }
    ;[spire, terminal] = await Promise.all([startSpire(CHECKOUT, OTHER), openTerminal(settings)])
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
  const accepted = () => ({ status: 200, claims: expect.objectContaining({ client_id: clientId }) })
  const kidOf = (jwt: string) => String(decodeProtectedHeader(jwt).kid)
  const issuers = (...args: string[]) => terminal.lines('federation', 'issuers', ...args)

  /** What becomes of a JWT with the keys of the bundle, and with those of discovery. */
  const sendBoth = async (jwt: string) => [await send(jwt, 'jwt-spiffe'), await send(jwt, 'jwt-bearer')]
  const bothAccepted = () => [accepted(), accepted()]

  /** Has the keys of both issuers fetched, once these are published. */
  async function refresh(...keyIds: readonly string[]): Promise<void> {
    await eventually(async () => expect((await spire.publishedKeyIds()).sort()).toEqual([...keyIds].sort()))
    for (const issuer of [TRUST_DOMAIN, spire.issuer]) await issuers('refresh', issuer)
  }

  async function authority(step: 'prepare' | 'activate' | 'taint' | 'revoke', id?: string): Promise<string> {
    const args = ['localauthority', 'jwt', step, ...(id === undefined ? [] : ['-authorityID', id]), '-output', 'json']
    const printed = JSON.parse(await spire.command('spire-server', ...args))
    return printed.prepared_authority?.authority_id
  }

  /** Has a prepared key sign, and returns a JWT-SVID by it. The agent hands out those by the old key until that is tainted. */
  async function activate(newId: string, oldId: string): Promise<string> {
    await authority('activate', newId)
    await authority('taint', oldId)
    return eventually(async () => {
      const svid = await svidOf(CHECKOUT)
      expect(kidOf(svid)).toBe(newId)
      return svid
    })
  }

  it('is accepted after the commands of the page', async () => {
    const printed = await runSection('SPIFFE', {
      folder,
      dataDir: terminal.server.dataDir,
      instead: {
        'https://tokens.example.com': terminal.server.baseUrl,
        'checkout@shop': clientId,
        'https://spire.shop.example:8443': `${spire.bundleUrl} --issuer-ca ${CERTIFICATE}`,
      },
      functions: `
        spire-agent() { command spire-agent "$@" -spiffeID ${CHECKOUT} -socketPath "${spire.sockets['spire-agent']}"; }`,
    })
    expect(printed).toMatch(/^accepted, by the federated identity \S+$/m)
  })

  it('gets a token, with client_id, without, and with the SPIFFE ID in its place', async () => {
    const svid = await svidOf(CHECKOUT)
    expect(decodeProtectedHeader(svid)).toMatchObject({ alg: 'ES256', typ: 'JWT' })
    for (const client of [clientId, undefined, CHECKOUT])
      expect(await send(svid, 'jwt-spiffe', client)).toEqual(accepted())
  })

  it('gets a token as any JWT of its issuer, once that is trusted by discovery [RFC 7523 §2.2]', async () => {
    const svid = await svidOf(CHECKOUT)
    expect(decodeJwt(svid).iss).toBe(spire.issuer)
    expect(await send(svid, 'jwt-bearer')).toEqual(REFUSED)
    await issuers('create', spire.issuer, '--discovery', '--issuer-ca', CERTIFICATE)
    const identity = ['--issuer', spire.issuer, '--subject', CHECKOUT]
    await terminal.lines('federation', 'identities', 'add', clientId, ...identity)
    await refresh(kidOf(svid))
    expect(await sendBoth(svid)).toEqual(bothAccepted())
  })

  it('is sent by @keyturn/client from a file', async () => {
    const tokenFile = join(folder, 'svid')
    await writeFile(tokenFile, await svidOf(CHECKOUT))
    const tokens = createTokenSource({ issuer: terminal.server.baseUrl, tokenFile })
    expect(decodeJwt(await tokens.token())).toMatchObject({ client_id: clientId })
  })

  it('is accepted through a rotation of the keys at the first try, until its key is revoked there', async () => {
    const before = await svidOf(CHECKOUT)
    const oldId = kidOf(before)
    const newId = await authority('prepare')
    await refresh(oldId, newId)
    const after = await activate(newId, oldId)
    for (const svid of [before, after]) expect(await sendBoth(svid)).toEqual(bothAccepted())

    await authority('revoke', oldId)
    await refresh(newId)
    expect(decodeJwt(before).exp).toBeGreaterThan(Date.now() / 1000)
    expect(await sendBoth(before)).toEqual([REFUSED, REFUSED])
    expect(await sendBoth(after)).toEqual(bothAccepted())
  })

  it('is accepted with a key that signs before Keyturn knows it, 30 seconds after the last fetch', async () => {
    const before = await svidOf(CHECKOUT)
    const newId = await authority('prepare')
    const after = await activate(newId, kidOf(before))
    await eventually(async () => expect(await sendBoth(after)).toEqual(bothAccepted()))
    for (const svid of [before, after]) expect(await sendBoth(svid)).toEqual(bothAccepted())
    await authority('revoke', kidOf(before))
  })
})
