/**
 * `docs/clients/java.md`: a service, which verifies tokens and gets its own.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, expect, it } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { requestToken } from '../support/keyturn.ts'
import { testLanguagePage } from './language-page.ts'

const RUN = 'java -cp "target/classes:$(cat classpath.txt)" example.Application'

testLanguagePage(
  {
    name: 'java',
    needs: { 'Java 17': 'javac -version 2>&1 | grep -qE " (1[7-9]|[2-9][0-9])"', Maven: 'mvn --version' },
    // It runs until it is ended.
    instead: { [RUN]: 'test -s classpath.txt' },
    lists: false,
  },
  (running) => {
    let service: ChildProcess | undefined
    afterAll(async () => {
      if (service?.exitCode === null && service.kill()) await once(service, 'exit')
    })

    it('verifies the tokens of its callers, and calls the API with its own', async () => {
      const { folder, env, server, userId } = running()
      const port = await freePort()
      service = spawn('bash', ['-c', `exec ${RUN}`], {
        cwd: folder,
        env: { ...process.env, ...env, PORT: String(port) },
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      const call = async (token: string | undefined, path = '/orders', method = 'GET') => {
        const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
        const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers })
        const challenge = response.headers.get('www-authenticate')
        return { status: response.status, challenge, body: await response.text() }
      }
      const credentials = { ...(await server.admin()), client_id: env.CLIENT_ID!, client_secret: env.CLIENT_SECRET! }
      const good = await requestToken(credentials, 'openid')

      expect(await eventually(() => call(undefined))).toMatchObject({ status: 401 })
      expect(await call(good)).toMatchObject({ status: 200, body: `orders of ${userId}` })
      for (const bad of [await requestToken(credentials), 'x.y.z']) {
        expect(await call(bad)).toMatchObject({ status: 401, challenge: expect.stringContaining('invalid_token') })
      }
      expect(await call(good, '/orders', 'DELETE')).toMatchObject({ status: 403 })
      expect(await call(good, '/keys')).toMatchObject({
        status: 200,
        body: expect.stringMatching(/"algorithm":"RS256"/),
      })
    })
  },
)
