/**
 * One Keyturn as the OpenID issuer of another, as processes and with the command line alone, through rotations of its keys.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { freePort } from '../support/free-port.ts'
import {
  type KeyturnProcess,
  removeFolder,
  runKeyturnInProcess,
  startKeyturn,
  temporaryFolder,
} from '../support/keyturn.ts'
import { createAuthority } from '../support/server-certificates.ts'

const authority = createAuthority()

let folder: string
let ca: string
let issuer: KeyturnProcess
let server: KeyturnProcess
beforeAll(async () => {
  folder = await temporaryFolder()
  ca = await file('ca.pem', authority.cert)
  const { cert, key } = authority.issue()
  const port = await freePort()
  issuer = await startKeyturn({
    env: {
      KEYTURN_LISTEN: `127.0.0.1:${port}`,
      KEYTURN_BASE_URL: `https://localhost:${port}`,
      KEYTURN_TLS_CERT_FILE: await file('cert.pem', cert),
      KEYTURN_TLS_KEY_FILE: await file('key.pem', key),
      KEYTURN_ACTIVATION_GUARD: 'off',
    },
  })
  // There is no proxy at that address: it must not be asked.
  server = await startKeyturn({
    env: {
      KEYTURN_ISSUER_NETWORKS: '127.0.0.1, ::1',
      NODE_USE_ENV_PROXY: '1',
      HTTPS_PROXY: `http://127.0.0.1:${await freePort()}`,
    },
  })
})
afterAll(async () => {
  await server?.stop()
  await issuer?.stop()
  await removeFolder(folder)
})

async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, content, { mode: 0o600 })
  return path
}

/** What a command prints on standard output. */
async function keyturn(at: KeyturnProcess, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runKeyturnInProcess(args, {
    KEYTURN_DATA_DIR: at.dataDir,
    KEYTURN_CA_FILE: ca,
  })
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' })
  return stdout.trim()
}

async function tokenRequest(jwt: string) {
  const form = {
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: jwt,
  }
  const response = await fetch(`${server.baseUrl}/oauth/v2/token`, { method: 'POST', body: new URLSearchParams(form) })
  return { status: response.status, body: (await response.json()) as { access_token: string } }
}

it('is trusted by discovery, through the rotation of its keys and the revocation of one', async () => {
  const first = await keyturn(issuer, 'token')
  const { sub = '', aud, iss = '' } = decodeJwt(first)
  await keyturn(server, 'projects', 'create', 'shop')
  const client = (await keyturn(server, 'users', 'create', 'checkout', '--project', 'shop')).replace('created ', '')
  await keyturn(server, 'federation', 'issuers', 'create', iss, '--discovery', '--issuer-ca', ca)
  const identity = ['--issuer', iss, '--subject', sub, '--audience', String(aud)]
  await keyturn(server, 'federation', 'identities', 'add', client, ...identity)
  const firstKeyId = String(decodeProtectedHeader(first).kid)
  expect(await keyturn(server, 'federation', 'issuers', 'refresh', iss)).toContain(firstKeyId)

  const { body } = await tokenRequest(first)
  expect(decodeJwt(body.access_token)).toMatchObject({ iss: server.baseUrl, client_id: client })

  // It publishes keys before they sign, so they are known when they do.
  const created = JSON.parse(await keyturn(issuer, 'keys', 'create', '--json')) as { webKey: { keyId: string } }
  const { keyId } = created.webKey
  const keyIds = await keyturn(server, 'federation', 'issuers', 'refresh', iss)
  expect(keyIds.replace('fetched: ', '').split(' ')).toEqual(expect.arrayContaining([firstKeyId, keyId]))
  await keyturn(issuer, 'keys', 'activate', keyId)
  const second = await keyturn(issuer, 'token')
  expect(decodeProtectedHeader(second).kid).toBe(keyId)
  for (const known of [second, first]) expect((await tokenRequest(known)).status).toBe(200)
  const accepted = await keyturn(server, 'federation', 'check', client, await file('second', second))
  expect(accepted).toMatch(/^accepted, by the federated identity \S+\nits keys \(.+\) were fetched \d+s ago$/)

  await keyturn(issuer, 'keys', 'revoke', firstKeyId, '--yes')
  await keyturn(server, 'federation', 'issuers', 'refresh', iss)
  expect((await tokenRequest(first)).status).toBe(401)
  expect((await tokenRequest(second)).status).toBe(200)
  const { code, stderr } = await runKeyturnInProcess(['federation', 'check', client, await file('first', first)], {
    KEYTURN_DATA_DIR: server.dataDir,
  })
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(
      /^keyturn: the JWT is refused: the issuer has no key with this kid for this alg \(its keys \(\S+\) were fetched \d+s ago\)$/m,
    ),
  })

  // Without it the last good keys go on.
  await issuer.stop()
  const refused = await runKeyturnInProcess(['federation', 'issuers', 'refresh', iss], {
    KEYTURN_DATA_DIR: server.dataDir,
  })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be reached (ECONNREFUSED)') })
  expect((await tokenRequest(second)).status).toBe(200)
  const shown = await keyturn(server, 'federation', 'issuers', 'show', iss)
  expect(shown).toMatch(/^keys {10}by discovery$/m)
  expect(shown).toMatch(
    /^last failure {2}\S+Z https:\/\/localhost:\d+\/\.well-known\/openid-configuration cannot be reached/m,
  )
})
