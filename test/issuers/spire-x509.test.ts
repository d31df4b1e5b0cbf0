/**
 * X.509-SVIDs of a real SPIRE as client certificates, through a rotation of its authority.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { fetchWith, TLS_SETTINGS } from '../support/mtls-client.ts'
import { openTerminal, type Terminal } from '../support/terminal.ts'
import { describeUnless } from '../support/unless.ts'
import { NO_SPIRE, type Spire, startSpire, TRUST_DOMAIN, type X509Svid } from './spire.ts'

const CHECKOUT = `${TRUST_DOMAIN}/checkout`
const OTHER = `${TRUST_DOMAIN}/other`
const REFUSED = { status: 401, error: 'invalid_client' }

if (NO_SPIRE !== undefined) process.stderr.write(`Skipped X.509-SVIDs of SPIRE: ${NO_SPIRE}\n`)

describeUnless(NO_SPIRE)('an X.509-SVID of SPIRE [RFC 8705]', () => {
  let spire: Spire
  let terminal: Terminal
  let clientId: string
  let folder: string
  /** The file with the authorities of SPIRE, which Keyturn reads again when it changes. */
  let authorities: string

  beforeAll(async () => {
    folder = await temporaryFolder()
    authorities = join(folder, 'authorities.pem')
    spire = await startSpire(CHECKOUT, OTHER)
    await writeAuthorities()
    const port = await freePort()
    terminal = await openTerminal({
      env: {
        ...TLS_SETTINGS,
        KEYTURN_LISTEN: `127.0.0.1:${port}`,
        KEYTURN_BASE_URL: `https://localhost:${port}`,
        KEYTURN_MTLS: 'tls',
        KEYTURN_MTLS_CA_FILE: authorities,
      },
    })
    await keyturn('projects', 'create', 'shop')
    clientId = (await keyturn('users', 'create', 'checkout', '--project', 'shop'))[0]!.replace('created ', '')
    await keyturn('users', 'certificates', 'add', clientId, '--uri', CHECKOUT)
  })
  afterAll(async () => {
    await terminal?.close()
    await spire?.stop()
    await removeFolder(folder)
  })

  async function writeAuthorities(): Promise<void> {
    await writeFile(authorities, await spire.command('spire-server', 'bundle', 'show'))
  }

  const keyturn = (...args: string[]) => terminal.lines(...args, '--ca', TLS_SETTINGS.KEYTURN_TLS_CERT_FILE)

  async function send(svid: X509Svid | undefined, fields: Record<string, string> = {}) {
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, ...fields })
    const response = await fetchWith(svid)(`${terminal.server.baseUrl}/oauth/v2/token`, { method: 'POST', body })
    const { access_token, error } = (await response.json()) as { access_token?: string; error?: string }
    return access_token === undefined
      ? { status: response.status, error }
      : { status: response.status, claims: decodeJwt(access_token) }
  }
  const accepted = () => ({ status: 200, claims: expect.objectContaining({ client_id: clientId }) })

  it('authenticates the user with its SPIFFE ID, and no other', async () => {
    expect(await send(await spire.fetchX509Svid(CHECKOUT))).toEqual(accepted())
    expect(await send(await spire.fetchX509Svid(OTHER))).toEqual(REFUSED)
    expect(await send(undefined)).toEqual(REFUSED)
  })

  it('is what tokens are bound to, also those for a JWT-SVID', async () => {
    await keyturn('users', 'certificate-bound-tokens', clientId, 'on')
    const bundle = join(folder, 'bundle.json')
    await writeFile(bundle, await spire.command('spire-server', 'bundle', 'show', '-format', 'spiffe'))
    await keyturn('federation', 'issuers', 'create', TRUST_DOMAIN, '--keys', bundle)
    const identity = ['--issuer', TRUST_DOMAIN, '--subject', CHECKOUT]
    await keyturn('federation', 'identities', 'add', clientId, ...identity)
    const svid = await spire.fetchX509Svid(CHECKOUT)
    const jwt = {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe',
      client_assertion: await spire.fetchJwtSvid(CHECKOUT, terminal.server.baseUrl),
    }
    for (const fields of [{}, jwt])
      expect(await send(svid, fields)).toMatchObject({ status: 200, claims: { cnf: { 'x5t#S256': svid.thumbprint } } })
  })

  it('authenticates through a rotation of its authority, until that is no longer trusted', async () => {
    const rotate = async (step: string, id?: string): Promise<Record<string, { authority_id: string } | undefined>> => {
      const args = [
        'localauthority',
        'x509',
        step,
        ...(id === undefined ? [] : ['-authorityID', id]),
        '-output',
        'json',
      ]
      return JSON.parse(await spire.command('spire-server', ...args))
    }
    const before = await spire.fetchX509Svid(CHECKOUT)
    const oldId = (await rotate('show')).active!.authority_id
    const newId = (await rotate('prepare')).prepared_authority!.authority_id
    await writeAuthorities()
    await rotate('activate', newId)
    await rotate('taint', oldId)
    const after = await eventually(async () => {
      const svid = await spire.fetchX509Svid(CHECKOUT)
      expect(svid.issuer).not.toBe(before.issuer)
      return svid
    })
    await eventually(async () => expect(await send(after)).toEqual(accepted()))
    expect(await send(before)).toEqual(accepted())

    await rotate('revoke', oldId)
    await writeAuthorities()
    await eventually(async () => expect(await send(before)).toEqual(REFUSED))
    expect(await send(after)).toEqual(accepted())
  })
})
