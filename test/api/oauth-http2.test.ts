import { once } from 'node:events'
import { type ClientHttp2Session, connect } from 'node:http2'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { formOf, type OAuthInstance, type Robot, startOAuthInstance } from '../support/oauth-instance.ts'

const JWKS = '/.well-known/openid-configuration/jwks'

let instance: OAuthInstance
let robot: Robot
let session: ClientHttp2Session

beforeAll(async () => {
  instance = await startOAuthInstance()
  robot = await instance.addRobot()
  session = connect(instance.keyturn.listenUrl)
  await once(session, 'connect')
})

afterAll(async () => {
  session?.destroy()
  await instance?.stop()
})

async function ask(headers: Record<string, string>, body = '') {
  const stream = session.request(headers, { endStream: body === '' })
  const head = once(stream, 'response')
  if (body !== '') stream.end(body)
  const [[received], content] = await Promise.all([head, text(stream)])
  return { headers: received as Record<string, string | number>, content }
}

const POST_FORM = {
  ':method': 'POST',
  ':path': '/oauth/v2/token',
  'content-type': 'application/x-www-form-urlencoded',
}

function formWith(clientSecret: string): string {
  return String(new URLSearchParams(formOf({ ...robot, clientSecret })))
}

describe('the OAuth endpoints over cleartext HTTP/2, on the port of HTTP/1.1', () => {
  it.each([
    ['says how long it is', (form: string) => ({ 'content-length': String(form.length) })],
    ['does not say how long it is', () => ({})],
  ])('issue a token that is good for a form that %s [Spec §4.1]', async (_, moreHeaders) => {
    const form = formWith(robot.clientSecret)
    const { headers, content } = await ask({ ...POST_FORM, ...moreHeaders(form) }, form)
    expect(headers).toMatchObject({ ':status': 200, 'cache-control': 'no-store', pragma: 'no-cache' })

    const keySet = createRemoteJWKSet(new URL(JWKS, instance.keyturn.baseUrl))
    const { access_token } = JSON.parse(content) as { access_token: string }
    expect((await jwtVerify(access_token, keySet)).payload.sub).toBe(robot.userId)
  })

  it('refuse in the form of OAuth [Spec §7]', async () => {
    const { headers, content } = await ask(POST_FORM, formWith('not the secret'))
    expect(headers).toMatchObject({ ':status': 401, 'cache-control': 'no-store', pragma: 'no-cache' })
    expect(JSON.parse(content)).toEqual({
      error: 'invalid_client',
      error_description: 'client authentication failed',
    })
  })
})
