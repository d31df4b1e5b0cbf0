import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  createTokenSource,
  TokenError,
  type TokenSource,
  type TokenSourceOptions,
} from '../../../packages/client/src/index.ts'
import { eventually } from '../../support/eventually.ts'
import { ManualRuntime } from '../../support/manual-runtime.ts'
import { issued, json, type ScriptedIssuer, startScriptedIssuer } from '../../support/scripted-issuer.ts'

const SECRET = 'ktn_cs_of-a-test'
const BUSY = (retryAfter?: string, status = 503) =>
  json(status, { error: 'temporarily_unavailable' }, retryAfter === undefined ? {} : { 'retry-after': retryAfter })

let server: ScriptedIssuer
let runtime: ManualRuntime

beforeEach(async () => {
  server = await startScriptedIssuer()
  runtime = new ManualRuntime()
})
afterEach(() => server.stop())

function source(options: Record<string, unknown> = {}): TokenSource {
  const all = { issuer: server.issuer, clientId: 'user@shop', clientSecret: SECRET, ...options }
  return createTokenSource(all as TokenSourceOptions, runtime)
}

async function failureOf(token: Promise<unknown>): Promise<TokenError> {
  const error = await token.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(TokenError)
  return error as TokenError
}

describe('a token source', () => {
  it('sends one request for all who ask while it is under way, and keeps what comes', async () => {
    const tokens = source({ scope: ['openid', 'invoices:read'], resource: 'https://id.example.com' })
    const all = await Promise.all(Array.from({ length: 50 }, () => tokens.token()))
    expect(new Set(all)).toEqual(new Set(['token']))
    expect(await tokens.token()).toBe('token')
    expect(server.forms.map((form) => Object.fromEntries(form))).toEqual([
      {
        grant_type: 'client_credentials',
        client_id: 'user@shop',
        client_secret: SECRET,
        scope: 'openid invoices:read',
        resource: 'https://id.example.com',
      },
    ])
  })

  it.each([
    [0, 750_000],
    [1, 900_000],
  ])('renews it before it expires, with jitter, while callers get the old one (random %d)', async (share, due) => {
    server.answer(issued('first'), issued('second'))
    runtime.share = share
    const tokens = source()
    await tokens.token()
    runtime.advance(due - 1)
    expect(await tokens.token()).toBe('first')
    expect(server.forms).toHaveLength(1)
    runtime.advance(1)
    expect(await tokens.token()).toBe('first')
    await eventually(async () => expect(await tokens.token()).toBe('second'))
    expect(server.forms).toHaveLength(2)
  })

  it('goes on with a token that cannot be renewed, until it expires', async () => {
    server.answer(issued('first'), json(400, { error: 'unauthorized_client' }))
    const tokens = source()
    await tokens.token()
    runtime.advance(800_000)
    expect(await tokens.token()).toBe('first')
    await eventually(() => expect(server.forms).toHaveLength(2))
    runtime.advance(189_999)
    expect(await tokens.token()).toBe('first')
    runtime.advance(1)
    expect(await failureOf(tokens.token())).toMatchObject({ code: 'refused', oauthError: 'unauthorized_client' })
  })

  it('gets another one when the clock was set back', async () => {
    server.answer(issued('first'), issued('second'))
    const tokens = source()
    await tokens.token()
    runtime.advance(-1)
    expect(await tokens.token()).toBe('second')
  })

  it('reads a secret that is a function for each request, so that a rotated one needs no restart', async () => {
    let secret = 'old'
    server.answer(issued('first'), issued('second'))
    const tokens = source({ clientSecret: async () => secret })
    await tokens.token()
    secret = 'new'
    runtime.advance(2_000_000)
    await tokens.token()
    expect(server.forms.map((form) => form.get('client_secret'))).toEqual(['old', 'new'])
  })

  it('ends the wait of a caller who gives up, and of no other', async () => {
    const release: (() => void)[] = []
    server.answer((response) => release.push(() => issued('late')(response)))
    const tokens = source()
    const caller = new AbortController()
    const first = tokens.token({ signal: caller.signal })
    const second = tokens.token()
    await eventually(() => expect(release).toHaveLength(1))
    caller.abort(new Error('enough'))
    await expect(first).rejects.toThrow('enough')
    release[0]!()
    expect(await second).toBe('late')
    expect(server.forms).toHaveLength(1)
  })
})

describe('a token endpoint that cannot answer now', () => {
  it.each([503, 429])('is asked again after the time that it names with %d, and not sooner', async (status) => {
    server.answer(BUSY('3', status), BUSY(new Date(runtime.now() + 8_000).toUTCString(), status), issued('token'))
    runtime.share = 0.999
    expect(await source().token()).toBe('token')
    expect(runtime.waits[0]).toBeGreaterThanOrEqual(3_000)
    expect(runtime.waits[0]).toBeLessThan(3_750)
    // A date has no milliseconds.
    expect(runtime.waits[1]).toBeGreaterThanOrEqual(8_000 - runtime.waits[0]! - 1_000)
    expect(server.forms).toHaveLength(3)
  })

  it('is asked five times at most, with a growing wait if it names none', async () => {
    server.answer(BUSY())
    runtime.share = 0
    expect(await failureOf(source().token())).toMatchObject({ code: 'unavailable', status: 503 })
    expect(server.forms).toHaveLength(5)
    expect(runtime.waits).toEqual([250, 500, 1_000, 2_000])
  })

  it('is left alone at once if it names a time that is too long, and for that time, up to a minute', async () => {
    server.answer(BUSY('86400'), issued('token'))
    const tokens = source()
    expect(await failureOf(tokens.token())).toMatchObject({ retryAfterMillis: 86_400_000 })
    runtime.advance(59_999)
    await failureOf(tokens.token())
    expect(server.forms).toHaveLength(1)
    runtime.advance(1)
    expect(await tokens.token()).toBe('token')
  })

  it.each(['-5', '1.5', 'soon'])(
    'is asked with a growing wait if it names %s, which is no time [RFC 9110 §10.2.3]',
    async (time) => {
      server.answer(BUSY(time), issued('token'))
      runtime.share = 0
      await source().token()
      expect(runtime.waits).toEqual([250])
    },
  )

  it('is reached again after a connection that was cut', async () => {
    server.answer((response) => response.destroy(), issued('token'))
    expect(await source().token()).toBe('token')
  })
})

describe('a token endpoint that refuses', () => {
  it('is not asked again for a second, and its reason is told without the secret', async () => {
    server.answer(json(401, { error: 'invalid_client', error_description: 'client authentication failed' }))
    const tokens = source()
    const error = await failureOf(tokens.token())
    expect(error).toMatchObject({
      code: 'refused',
      oauthError: 'invalid_client',
      status: 401,
      message: 'no token: invalid_client: client authentication failed',
    })
    expect(await failureOf(tokens.token())).toBe(error)
    expect(server.forms).toHaveLength(1)
    expect(JSON.stringify({ ...error, stack: error.stack })).not.toContain(SECRET)
    runtime.advance(1_000)
    await failureOf(tokens.token())
    expect(server.forms).toHaveLength(2)
  })

  it.each([
    ['a token without a lifetime', json(200, { access_token: 'token', token_type: 'Bearer' })],
    ['another type of token', json(200, { access_token: 'token', token_type: 'DPoP', expires_in: 60 })],
    ['a web page', json(200, 'hello')],
  ])('or answers with %s is no Keyturn', async (_, answer) => {
    server.answer(answer)
    expect(await failureOf(source().token())).toMatchObject({ code: 'unusable' })
  })

  it('and sends the client elsewhere does not get it to send its secret there', async () => {
    server.answer((response) => response.writeHead(307, { location: `${server.issuer}/elsewhere` }).end())
    expect(await failureOf(source().token())).toMatchObject({ code: 'unavailable' })
  })
})

describe('a token that a service refused', () => {
  it('is replaced, three times at once and then once in ten seconds', async () => {
    server.answer(...['1', '2', '3', '4', '5'].map((token) => issued(token)))
    const tokens = source()
    for (const token of ['1', '2', '3']) {
      expect(await tokens.token()).toBe(token)
      tokens.invalidate(token)
    }
    expect(await tokens.token()).toBe('4')
    runtime.advance(9_999)
    tokens.invalidate('4')
    expect(await tokens.token()).toBe('4')
    runtime.advance(1)
    tokens.invalidate('4')
    expect(await tokens.token()).toBe('5')
  })
})
