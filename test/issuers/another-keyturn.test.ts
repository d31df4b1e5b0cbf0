/**
 * Access tokens of another Keyturn, through a rotation of its keys and the revocation of one.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeProtectedHeader } from 'jose'
import { newProofKey, proofOf } from '../support/dpop.ts'
import { type KeyturnProcess, removeFolder, runKeyturnInProcess, startKeyturn } from '../support/keyturn.ts'
import { runSection } from './page-commands.ts'
import { exchange } from './token-exchange.ts'

const REFUSED = { status: 401, error: 'invalid_client' }

let partner: KeyturnProcess
let here: KeyturnProcess
let robot: { readonly clientId: string; readonly secret: string }
let clientId: string
let folder: string

beforeAll(async () => {
  ;[partner, here] = await Promise.all([startKeyturn(), startKeyturn()])
  for (const [server, project] of [
    [partner, 'partner'],
    [here, 'shop'],
  ] as const)
    await keyturn(server, 'projects', 'create', project)
  clientId = created(await keyturn(here, 'users', 'create', 'checkout', '--project', 'shop'))
  const robotId = created(await keyturn(partner, 'users', 'create', 'robot', '--project', 'partner'))
  const [secret = ''] = /ktn_cs_[\w-]+/.exec(await keyturn(partner, 'secrets', 'generate', robotId)) ?? []
  robot = { clientId: robotId, secret }
  folder = join(here.dataDir, 'page')
  await mkdir(folder)
  await runSection('Another Keyturn', {
    folder,
    dataDir: here.dataDir,
    instead: {
      'https://tokens.example.com': here.baseUrl,
      'https://tokens.partner.example': partner.baseUrl,
      'checkout@shop': clientId,
      USER_ID: robotId.split('@')[0]!,
    },
    // One of the commands is for the other one.
    functions: `
      at() { KEYTURN_DATA_DIR="$1" "$NODE" "$MAIN" "\${@:2}"; }
      keyturn() { case $1 in projects) at "$PARTNER_DATA_DIR" "$@" ;; *) at "$KEYTURN_DATA_DIR" "$@" ;; esac; }`,
    env: { PARTNER_DATA_DIR: partner.dataDir },
  })
})
afterAll(async () => {
  for (const server of [partner, here]) {
    await server?.stop()
    if (server !== undefined) await removeFolder(server.dataDir)
  }
})

/** Runs a command beside a server and returns what it prints. */
async function keyturn(server: KeyturnProcess, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runKeyturnInProcess(args, { KEYTURN_DATA_DIR: server.dataDir })
  if (code !== 0) throw new Error(`keyturn ${args.join(' ')} ended with ${code}:\n${stderr}`)
  return stdout
}

function created(printed: string): string {
  return printed.trim().replace('created ', '')
}

/** A token of the other one, for this one unless the fields say otherwise. */
async function tokenOf(fields: Record<string, string> = { resource: here.baseUrl }, dpop?: string): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: robot.clientId,
    client_secret: robot.secret,
    ...fields,
  })
  const headers: Record<string, string> = dpop === undefined ? {} : { dpop }
  const response = await fetch(`${partner.baseUrl}/oauth/v2/token`, { method: 'POST', body, headers })
  const { access_token, ...refusal } = (await response.json()) as { access_token?: string }
  if (access_token === undefined) throw new Error(JSON.stringify(refusal))
  return access_token
}

const send = (jwt: string) => exchange(here, { jwt })
const kidOf = (jwt: string) => String(decodeProtectedHeader(jwt).kid)

async function updateKeys(): Promise<void> {
  const file = join(folder, 'rotated.jwks.json')
  const response = await fetch(`${partner.baseUrl}/.well-known/openid-configuration/jwks`)
  await writeFile(file, await response.text())
  await keyturn(here, 'federation', 'issuers', 'update', partner.baseUrl, '--keys', file)
}

describe('an access token of another Keyturn', () => {
  it('gets a token after the commands of the page', async () => {
    expect(await send(await tokenOf())).toMatchObject({
      status: 200,
      claims: { iss: here.baseUrl, client_id: clientId },
    })
  })

  it('gets none if it is for something else there, or for that too', async () => {
    const api = 'urn:service:iam:org:project:id:service:aud'
    for (const fields of [{}, { scope: api }, { scope: api, resource: here.baseUrl }])
      expect(await send(await tokenOf(fields))).toEqual(REFUSED)
  })

  it('gets none if it is bound to a key [RFC 9449 §6]', async () => {
    const proof = await proofOf(await newProofKey(), { url: `${partner.baseUrl}/oauth/v2/token` })
    expect(await send(await tokenOf({ resource: here.baseUrl }, proof))).toEqual(REFUSED)
  })

  it('gets none at the one that issued it', async () => {
    expect(await exchange(partner, { jwt: await tokenOf() })).toEqual(REFUSED)
  })

  it('is accepted through a rotation of the keys there, until its key is revoked', async () => {
    const before = await tokenOf()
    const [, next = ''] = /^created (\S+) \(/m.exec(await keyturn(partner, 'keys', 'create')) ?? []
    await keyturn(partner, 'keys', 'activate', next)
    const after = await tokenOf()
    expect(kidOf(after)).toBe(next)
    expect(await send(after)).toEqual(REFUSED)
    await updateKeys()
    for (const jwt of [before, after]) expect(await send(jwt)).toMatchObject({ status: 200 })

    await keyturn(partner, 'keys', 'revoke', kidOf(before), '--yes')
    expect(await send(before)).toMatchObject({ status: 200 })
    await updateKeys()
    expect(await send(before)).toEqual(REFUSED)
    expect(await send(after)).toMatchObject({ status: 200 })
  })
})
