import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  basicCredentials,
  formOf,
  type OAuthInstance,
  type Robot,
  refusal,
  seen,
  startOAuthInstance,
} from '../support/oauth-instance.ts'

const TOKEN = '/oauth/v2/token'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const KIB = 1024

let instance: OAuthInstance
let robot: Robot

beforeAll(async () => {
  instance = await startOAuthInstance()
  robot = await instance.addRobot()
})

afterAll(() => instance?.stop())

describe('a token request [Spec §4.1]', () => {
  it.each([
    ['missing', {}],
    ['empty', { grant_type: '' }],
  ])('is refused as invalid_request when grant_type is %s', async (_, grant) => {
    const { client_id, client_secret } = formOf(robot)
    const answer = await seen(await instance.postForm({ client_id, client_secret, ...grant }))
    expect(answer).toEqual(refusal(400, 'invalid_request'))
  })

  it.each(['grant_type', 'scope', 'client_id', 'client_secret'] as const)(
    'is refused as invalid_request when %s is there twice [RFC 6749 §3.2]',
    async (field) => {
      const form = { ...formOf(robot), scope: 'openid' }
      for (const value of [form[field], 'another']) {
        const answer = await seen(await instance.postForm([...Object.entries(form), [field, value]]))
        expect(answer).toEqual(refusal(400, 'invalid_request'))
      }
    },
  )

  it.each([['fields', '&x=1']])(
    'is refused as invalid_request when a field is there again behind a thousand %s [RFC 6749 §3.2]',
    async (_, field) => {
      const post = async (body: string) => seen(await instance.fetch(TOKEN, { method: 'POST', headers: FORM, body }))
      const form = String(new URLSearchParams(formOf(robot)))
      for (const again of ['client_secret=another', 'client_id=another', 'grant_type=password', 'scope=a&scope=b']) {
        const answer = await post(`${form}${field.repeat(998)}&${again}`)
        expect(answer).toEqual(refusal(400, 'invalid_request'))
        expect(answer.body).toMatchObject({ error_description: 'the form has more than 1000 fields' })
      }
      expect(await post(`${form}${field.repeat(990)}`)).toMatchObject({ status: 200 })
    },
  )

  it('ignores fields that it does not know [RFC 6749 §3.2]', async () => {
    const form = [...Object.entries(formOf(robot)), ['audience', 'a'], ['audience', 'b'], ['request', 'x']]
    expect((await instance.postForm(form as [string, string][])).status).toBe(200)
  })

  it('does not take its fields from the query', async () => {
    const query = new URLSearchParams(formOf(robot))
    const answer = await seen(await instance.fetch(`${TOKEN}?${query}`, { method: 'POST', headers: FORM }))
    expect(answer).toEqual(refusal(401, 'invalid_client'))
  })

  it('may say which character set its form has', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' }
    const body = String(new URLSearchParams(formOf(robot)))
    expect((await instance.fetch(TOKEN, { method: 'POST', headers, body })).status).toBe(200)
  })

  it.each<[string, Record<string, string>, () => NonNullable<RequestInit['body']> | null]>([
    ['JSON', { 'content-type': 'application/json' }, () => JSON.stringify(formOf(robot))],
    ['multipart', {}, () => Object.entries(formOf(robot)).reduce(append, new FormData())],
  ])('is refused as invalid_request with %s for a body', async (_, headers, body) => {
    const answer = await seen(await instance.fetch(TOKEN, { method: 'POST', headers, body: body() }))
    expect(answer).toEqual(refusal(400, 'invalid_request'))
  })

  it.each<[string, Record<string, string>, () => NonNullable<RequestInit['body']> | null]>([
    ['separators only', FORM, () => '&&==&=&'],
    ['an unknown character set', { 'content-type': `${FORM['content-type']}; charset=klingon` }, () => 'a=b'],
  ])(
    'is refused as invalid_client, without a credential, with %s for a body [RFC 6749 §5.2]',
    async (_, headers, body) => {
      const answer = await seen(await instance.fetch(TOKEN, { method: 'POST', headers, body: body() }))
      expect(answer).toEqual(refusal(401, 'invalid_client'))
    },
  )

  it.each([32 * KIB, 70 * KIB])('is refused in the form of OAuth with a body of %i bytes', async (size) => {
    const body = `${new URLSearchParams(formOf(robot))}&scope=${'x'.repeat(size)}`
    const answer = await seen(await instance.fetch(TOKEN, { method: 'POST', headers: FORM, body }))
    expect(answer).toEqual(refusal(413, 'invalid_request'))
    expect(answer.body).toMatchObject({ error_description: expect.stringMatching(/ is longer than \d+ bytes$/) })
  })

  it.each([32 * KIB, 70 * KIB])('is refused so too when %i bytes come without their number', async (size) => {
    const answer = await postInChunks(`${new URLSearchParams(formOf(robot))}&scope=${'x'.repeat(size)}`)
    expect(answer.status).toBe(413)
    const description = 'the form is longer than 32768 bytes'
    expect(JSON.parse(answer.body)).toEqual({ error: 'invalid_request', error_description: description })
  })

  it('never makes the server fail, whatever its form has', async () => {
    const name = fc.oneof(
      fc.constantFrom('grant_type', 'scope', 'resource', 'client_id', 'client_secret', 'client_assertion', 'dpop_jkt'),
      fc.constantFrom('authorization_details', 'client_assertion_type', '__proto__', 'constructor'),
      fc.string({ unit: 'binary', maxLength: 10 }),
    )
    const pairs = fc.array(fc.tuple(name, fc.string({ unit: 'binary', maxLength: 40 })), { maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(pairs, fc.boolean(), async (fields, authenticated) => {
        const own = authenticated ? Object.entries(formOf(robot)) : []
        const { status } = await instance.postForm([...own, ...fields])
        expect([200, 400, 401]).toContain(status)
      }),
      { numRuns: 100 },
    )
  })
})

describe('the Authorization header of a token request', () => {
  const grant = { grant_type: 'client_credentials' }

  it('may say Basic in any letters and name the client again in the form', async () => {
    const authorization = basicCredentials(robot.clientId, robot.clientSecret).replace('Basic', 'bASIC')
    const answer = await instance.postForm({ ...grant, client_id: robot.clientId }, { authorization })
    expect(answer.status).toBe(200)
  })

  it('may not come with a secret in the form as well [RFC 6749 §2.3]', async () => {
    const authorization = basicCredentials(robot.clientId, robot.clientSecret)
    const answer = await seen(await instance.postForm(formOf(robot), { authorization }))
    expect(answer).toEqual(refusal(400, 'invalid_request'))
  })

  it.each([
    ['no credentials', 'Basic'],
    ['a bad percent encoding', `Basic ${btoa('robot%zz:secret')}`],
    ['more than one part', `Basic ${btoa('robot:secret')} more`],
    ['another scheme', 'Bearer abc'],
  ])('is refused as invalid_client with %s [RFC 6749 §5.2]', async (_, authorization) => {
    const answer = await seen(await instance.postForm(grant, { authorization }))
    expect(answer).toEqual(refusal(401, 'invalid_client'))
  })
})

function append(form: FormData, [name, value]: [string, string]): FormData {
  form.append(name, value)
  return form
}

/** Sends a form with chunked transfer coding, which fetch does not do. */
function postInChunks(body: string): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(instance.keyturn.listenUrl + TOKEN, { method: 'POST', headers: FORM }, (response) => {
      text(response).then((received) => resolve({ status: response.statusCode, body: received }), reject)
    })
    outgoing.on('error', reject)
    outgoing.write(body.slice(0, 10))
    outgoing.end(body.slice(10))
  })
}
