import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { freePort } from '../../support/free-port.ts'
import {
  type Keyturn,
  removeFolder,
  runKeyturnInProcess,
  startKeyturnInProcess,
  temporaryFolder,
} from '../../support/keyturn.ts'

let server: Keyturn
let folder: string
beforeAll(async () => {
  folder = await temporaryFolder()
  server = await startKeyturnInProcess()
})
afterAll(async () => {
  await server?.stop()
  if (server !== undefined) await removeFolder(server.dataDir)
  await removeFolder(folder)
})

const keyturn = (...args: string[]) => runKeyturnInProcess(['token', ...args], { KEYTURN_DATA_DIR: server.dataDir })

/** Runs the command with a file of this content. */
async function withCredentials(name: string, content: string | object) {
  const path = join(folder, name)
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return { path, ...(await runKeyturnInProcess(['token', '--credentials', path])) }
}

describe('keyturn token', () => {
  it('prints an access token and nothing else', async () => {
    const { code, stdout, stderr } = await keyturn()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)

    const keySet = createRemoteJWKSet(new URL('/.well-known/openid-configuration/jwks', server.baseUrl))
    const { payload } = await jwtVerify(stdout.trim(), keySet, { issuer: server.baseUrl, typ: 'at+jwt' })
    expect(payload).toMatchObject({
      client_id: (await server.admin()).client_id,
      scope: 'openid urn:service:iam:org:project:id:service:aud',
    })
  })

  it('asks for the audience of --audience: the API, the own project or a project by id', async () => {
    const claimsOf = async (...args: string[]) => {
      const { code, stdout, stderr } = await keyturn(...args)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      return decodeJwt(stdout.trim())
    }
    const { aud: own, scope } = await claimsOf('--audience', 'own')
    const [projectId = ''] = own as string[]
    const api = server.baseUrl
    expect([own, scope]).toEqual([[expect.stringMatching(/^[0-9a-f-]{36}$/)], 'openid'])
    expect((await claimsOf()).aud).toEqual([api])
    expect((await claimsOf('--audience', 'api', '--scope', 'profile')).aud).toEqual([api])
    expect((await claimsOf('--scope', 'profile')).aud).toEqual(own)
    expect((await claimsOf('--audience', 'own', '--scope', 'profile')).aud).toEqual(own)
    for (const id of [projectId, projectId.toUpperCase()]) {
      expect(await claimsOf('--audience', id)).toMatchObject({
        aud: own,
        scope: `openid urn:service:iam:org:project:id:${projectId}:aud`,
      })
    }
  })

  it('tells programs by its code why the token endpoint refuses [RFC 6749 §5.2]', async () => {
    const credentials = { ...(await server.admin()), client_secret: 'wrong' }
    const path = join(folder, 'wrong.json')
    await writeFile(path, JSON.stringify(credentials))
    const { code, stderr } = await keyturn('--json', '--credentials', path)
    expect({ code, error: JSON.parse(stderr).error }).toMatchObject({ code: 1, error: { code: 'invalid_client' } })
  })

  it('does not send a secret to another host in clear', async () => {
    const admin = await server.admin()
    const elsewhere = { ...admin, token_endpoint: 'http://keyturn.invalid/oauth/v2/token' }
    const { code, stderr } = await withCredentials('clear.json', elsewhere)
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('the address http://keyturn.invalid/oauth/v2/token must be https'),
    })
  })
})

describe('a command without a server', () => {
  it.each([[['token']], [['keys', 'list']]])('%j says that nobody is there and how to start one', async (args) => {
    const base_url = `http://127.0.0.1:${await freePort()}`
    const credentials = join(folder, 'nobody.json')
    const token_endpoint = `${base_url}/oauth/v2/token`
    await writeFile(
      credentials,
      JSON.stringify({ base_url, token_endpoint, client_id: 'a@b', client_secret: 's3cret' }),
    )
    expect(await runKeyturnInProcess([...args, '--credentials', credentials])).toEqual({
      code: 1,
      stdout: '',
      stderr: `keyturn: cannot reach ${token_endpoint} (ECONNREFUSED): is the server running? "keyturn serve" starts it\n`,
    })
  })

  it('takes no secret to where a server sends it on', async () => {
    const bodies: string[] = []
    const other: Server = createServer(async (req, res) => {
      bodies.push(await text(req))
      res.writeHead(307, { location: '/elsewhere' }).end()
    })
    await new Promise<void>((done) => other.listen(0, '127.0.0.1', done))
    try {
      const base_url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
      const token_endpoint = `${base_url}/oauth/v2/token`
      const credentials = { base_url, token_endpoint, client_id: 'a@b', client_secret: 's3cret' }
      const { code, stderr } = await withCredentials('redirected.json', credentials)
      expect(code).toBe(1)
      expect(stderr).toMatch(
        /^keyturn: cannot reach \S+: it answers with a redirect \(307\): name the address itself\n$/,
      )
      expect(bodies).toHaveLength(1)
    } finally {
      other.closeAllConnections()
      await new Promise((done) => other.close(done))
    }
  })
})

describe('a credentials file', () => {
  it('that is missing is asked for', async () => {
    const missing = join(folder, 'missing.json')
    expect(await runKeyturnInProcess(['token'], { KEYTURN_CREDENTIALS: missing })).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `keyturn: cannot read the credentials file ${missing}: name one with --credentials or KEYTURN_CREDENTIALS; ` +
        '"keyturn serve" writes it when it starts on an empty database\n',
    })
  })

  it.each<[string, (good: object) => string | object]>([
    ['no JSON', () => 'client_secret=hunter2-hunter2'],
    ['without a client_id', (good) => ({ ...good, client_id: undefined })],
    ['with an address that is no URL', (good) => ({ ...good, token_endpoint: 'localhost' })],
  ])('that is %s is refused with what it must have, and nothing of it is repeated', async (name, spoil) => {
    const good = await server.admin()
    const { path, code, stdout, stderr } = await withCredentials(`${name}.json`, spoil(good))
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: `keyturn: ${path} is not a credentials file: it must be JSON with base_url, token_endpoint, client_id and client_secret\n`,
    })
  })
})
