/**
 * `docs/clients/node.md`, with the libraries of this checkout in the place of the package, and real frameworks.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, it } from '@jest/globals'
import { decodeJwt, exportJWK, generateKeyPair } from 'jose'
import { administrationOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { requestToken } from '../support/keyturn.ts'
import { INSTEAD_OF_INSTALLING } from './keyturn-package.ts'
import { testLanguagePage } from './language-page.ts'

testLanguagePage(
  {
    name: 'node',
    needs: { npm: 'npm --version' },
    instead: INSTEAD_OF_INSTALLING,
    verify: 'node verify.mjs',
  },
  (running) => {
    let service: ChildProcess | undefined
    afterEach(async () => {
      if (service?.exitCode === null && service.kill()) await once(service, 'exit')
    })

    it('gets a token with a private key', async () => {
      const { folder, server, userId, shell } = running()
      const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
      await writeFile(join(folder, 'private.json'), JSON.stringify(await exportJWK(privateKey)))
      const { users } = await administrationOf(server)
      await users.addUserKey({ userId, publicJwk: JSON.stringify(await exportJWK(publicKey)) })
      const print = "import { tokens } from './private-key.mjs'; console.log(await tokens.token())"
      const token = await shell(`node --input-type=module --eval "${print}"`)
      expect(decodeJwt(token.trim())).toMatchObject({ sub: userId })
    })

    it.each(['express', 'fastify', 'hono'])('protects a service with %s [RFC 6750 §3]', async (framework) => {
      const { folder, env, server, userId, shell } = running()
      const port = await freePort()
      const url = `http://127.0.0.1:${port}`
      service = spawn(process.execPath, [`${framework}.mjs`], {
        cwd: folder,
        env: { ...process.env, ...env, PORT: String(port) },
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      const credentials = { ...(await server.admin()), client_id: env.CLIENT_ID!, client_secret: env.CLIENT_SECRET! }
      const authorization = `Bearer ${await requestToken(credentials, 'openid')}`
      const call = async (init: RequestInit = {}) => {
        const response = await fetch(`${url}/orders`, init)
        const challenge = response.headers.get('www-authenticate')
        return { status: response.status, challenge, body: await response.text() }
      }
      const unknown = await eventually(() => call())
      expect(unknown).toEqual({
        status: 401,
        challenge: `Bearer realm="${server.baseUrl}"`,
        body: '{"error_description":"an access token is required"}',
      })
      expect(await call({ headers: { authorization: 'Bearer x' } })).toMatchObject({
        status: 401,
        challenge: expect.stringMatching(/^Bearer realm=.*, error="invalid_token", /),
      })
      expect(await call({ headers: { authorization } })).toMatchObject({ status: 200, body: `orders of ${userId}` })
      expect(await call({ method: 'DELETE', headers: { authorization } })).toMatchObject({
        status: 403,
        challenge: expect.stringMatching(/^Bearer realm=.*, error="insufficient_scope", /),
      })
      expect(await shell(`SERVICE=${url} node call-service.mjs`)).toBe(`200 orders of ${userId}\n`)
    })
  },
)
