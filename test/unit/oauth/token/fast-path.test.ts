import { once } from 'node:events'
import { connect as connectHttp2, constants } from 'node:http2'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  createLocalJWKSet,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  type JSONWebKeySet,
  jwtVerify,
  SignJWT,
} from 'jose'
import * as client from 'openid-client'
import type { KeySnapshot } from '../../../../src/app/keys/live-key-ring.ts'
import { createKeyPairGenerator } from '../../../../src/crypto/key-pair.ts'
import { generateMasterKey, parseMasterKeys } from '../../../../src/crypto/master-keys.ts'
import { createKeySealer } from '../../../../src/crypto/sealed-key.ts'
import { createSignerFactory } from '../../../../src/crypto/signer.ts'
import { DomainError } from '../../../../src/domain/errors.ts'
import { splitClientId } from '../../../../src/domain/identities/client-id.ts'
import type { ClientSecret } from '../../../../src/domain/identities/credential.ts'
import { createServiceUser, type ServiceUser } from '../../../../src/domain/identities/service-user.ts'
import type { PublicJwk } from '../../../../src/domain/keys/key-algorithm.ts'
import { activate, createWebKey } from '../../../../src/domain/keys/web-key.ts'
import { keySetOf } from '../../../../src/oauth/documents/jwks.ts'
import { eventually } from '../../../support/eventually.ts'
import { TEST_INTEGRITY } from '../../../support/integrity.ts'
import { basicCredentials } from '../../../support/oauth-instance.ts'
import { type Clients, type TokenRequestCase, tokenRequests } from './token-requests.ts'
import { post, postOverHttp2, type Received, startTokenServer } from './token-server.ts'

const { NGHTTP2_CANCEL } = constants
const ISSUER = 'http://localhost:1'
const NOW = new Date('2030-01-01T12:00:30.500Z')
const PROJECT = '7f1de9e9-7c63-4f0c-8bb3-111111111111'
const OTHER_PROJECT = '7f1de9e9-7c63-4f0c-8bb3-222222222222'
const FOREIGN_PROJECT = '7f1de9e9-7c63-4f0c-8bb3-333333333333'

const { secrets } = TEST_INTEGRITY
const [first, second, expired, deactivated] = [0, 1, 2, 3].map(() => secrets.generate())
const users = new Map<string, ServiceUser>()
const [userKey, otherKey] = [await generateKeyPair('ES256'), await generateKeyPair('ES256')]
const publicJwk = (await exportJWK(userKey.publicKey)) as PublicJwk

function addUser(last: number, more: Partial<ServiceUser> = {}): string {
  const userId = `0b6e2f5c-9a3d-4a57-8f65-00000000000${last}`
  const facts = { userId, name: 'robot', projectId: PROJECT, projectName: 'billing', clientCredentialsEnabled: true }
  const keep = (secretId: string, { hash }: { hash: Uint8Array }, dates: Partial<ClientSecret> = {}): ClientSecret => {
    return { secretId, hash, createdAt: NOW, expiresAt: null, deactivatedAt: null, lastUsedAt: null, ...dates }
  }
  users.set(userId, {
    ...createServiceUser(facts, NOW),
    secrets: [
      keep('first', first!),
      keep('second', second!, { expiresAt: new Date(NOW.getTime() + 1) }),
      keep('expired', expired!, { expiresAt: NOW }),
      keep('deactivated', deactivated!, { deactivatedAt: NOW }),
    ],
    projectRoles: new Map([
      [PROJECT, ['reader', 'writer']],
      [OTHER_PROJECT, ['viewer']],
    ]),
    keys: [{ keyId: 'key', publicJwk, createdAt: NOW, expiresAt: null }],
    customScopes: ['invoices:read'],
    ...more,
  })
  return `${userId}@billing`
}

const clientId = addUser(1)
const assert = (audience: string, { privateKey }: typeof userKey) =>
  new SignJWT({ iss: clientId, sub: clientId, aud: audience, jti: 'once', exp: NOW.getTime() / 1000 + 60 })
    .setProtectedHeader({ alg: 'ES256' })
    .sign(privateKey)

const clients: Clients = {
  issuer: ISSUER,
  clientId,
  secret: first!.secret,
  otherSecrets: { second: second!.secret, expired: expired!.secret, deactivated: deactivated!.secret },
  assertions: {
    good: await assert(ISSUER, userKey),
    forElsewhere: await assert('https://elsewhere.example', userKey),
    byNobody: await assert(ISSUER, otherKey),
  },
  disabled: addUser(2, { enabled: false }),
  withoutGrant: addUser(3, { clientCredentialsEnabled: false }),
  unknown: '0b6e2f5c-9a3d-4a57-8f65-000000000009@billing',
  projectId: PROJECT,
  otherProjectId: OTHER_PROJECT,
  foreignProjectId: FOREIGN_PROJECT,
}
const requests = tokenRequests(clients)
const usual = requests[0]!

let keys: KeySnapshot
type TokenServer = Awaited<ReturnType<typeof startTokenServer>>

let direct: TokenServer
let cold: TokenServer
let engine: TokenServer

async function newKeys(): Promise<KeySnapshot> {
  const sealer = createKeySealer(parseMasterKeys(generateMasterKey()))
  const pair = await createKeyPairGenerator(sealer).generate({ kind: 'ecdsa', curve: 'P-256' })
  const key = activate(createWebKey(pair, NOW), NOW)
  return { ring: [key], signer: await createSignerFactory(sealer).open(key, pair.sealedPrivateKey) }
}

beforeAll(async () => {
  keys = await newKeys()
  const options = { issuer: ISSUER, keys, users, secrets, now: () => NOW }
  direct = await startTokenServer({ ...options, answers: 'from memory' })
  cold = await startTokenServer({ ...options, answers: 'from the database' })
  engine = await startTokenServer({ ...options, answers: 'by the engine' })
})

afterAll(async () => {
  for (const server of [direct, cold, engine]) await server?.stop()
})

/** What must be the same, whoever answers. What is different each time is looked at for its form. */
async function comparable({ status, headers, body }: Received): Promise<unknown> {
  const { date, 'x-request-id': requestId, ...rest } = headers
  expect([date, requestId]).toEqual([expect.any(String), expect.any(String)])
  if (status !== 200) return { status, headers: rest, body }
  const { access_token: token, ...members } = JSON.parse(body) as { access_token: string }
  const keySet = createLocalJWKSet(keySetOf(keys.ring) as unknown as JSONWebKeySet)
  const { payload } = await jwtVerify(token, keySet, { currentDate: NOW, issuer: ISSUER })
  const { jti, ...claims } = payload
  expect(jti).toMatch(/^[\w-]{43}$/)
  // The signature of ECDSA is random, its length and that of the id are not.
  return { status, headers: rest, members, header: decodeProtectedHeader(token), claims, length: body.length }
}

/** Compares the answers for a user in memory, for one who is looked up, and by the engine alone. */
async function compare(send: typeof post, request: TokenRequestCase): Promise<{ status: number; direct: boolean }> {
  const servers = [direct, cold, engine]
  const before = servers.map((server) => server.record())
  const calls = [direct.engineCalls(), cold.engineCalls()]
  const answers = await Promise.all(servers.map(({ url }) => send(url, request)))
  const [fromMemory, fromDatabase, byEngine] = await Promise.all(answers.map(comparable))
  expect(fromMemory).toEqual(byEngine)
  expect(fromDatabase).toEqual(byEngine)

  const { status = 0 } = answers[0] ?? {}
  await eventually(async () => {
    const [left, middle, right] = servers.map((server, i) => since(server, before[i]!))
    expect(left).toEqual(right)
    expect(middle).toEqual(right)
    expect(right?.answered).toHaveLength(1)
    expect(right?.failed).toHaveLength(status === 401 ? 1 : 0)
    // Only of a user who exists.
    const claimed = right?.failed.map(splitClientId).filter((parts) => parts !== undefined && users.has(parts.userId))
    expect(right?.audited).toEqual(claimed?.map((parts) => `anonymous users/${parts?.userId} 127.0.0.1 INVALID_CLIENT`))
    // An assertion is no secret.
    expect(right?.used).toHaveLength(status === 200 && !String(request.body).includes('client_assertion=ey') ? 1 : 0)
  })
  const unasked = [direct.engineCalls() === calls[0], cold.engineCalls() === calls[1]]
  expect(unasked[0]).toBe(unasked[1])
  return { status, direct: status === 200 && unasked[0] === true }
}

function since({ record }: TokenServer, at: ReturnType<TokenServer['record']>) {
  const { used, failed, audited, answered } = record()
  return {
    used: used.slice(at.used.length),
    audited: audited.slice(at.audited.length),
    failed: failed.slice(at.failed.length),
    answered: answered.slice(at.answered.length),
  }
}

describe('a token request that the engine is not needed for', () => {
  it.each(requests.map((request) => [request.name, request] as const))(
    'is answered as the engine does it, and so is what is left to the engine: %s',
    async (_, request) => {
      expect((await compare(post, request)).direct).toBe(request.plain ?? false)
    },
  )

  it.each(
    requests.filter(({ headers }) => headers?.expect === undefined).map((request) => [request.name, request] as const),
  )('is answered so over HTTP/2 as well: %s', async (_, request) => {
    expect((await compare(postOverHttp2, request)).direct).toBe(request.plain ?? false)
  })

  it('is answered so whatever its fields are', async () => {
    const value = (...usualOnes: string[]) =>
      fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...usualOnes) }, fc.string({ unit: 'binary', maxLength: 12 }))
    const id = value(clients.clientId, clients.clientId, clients.disabled, clients.unknown, '')
    const secret = value(first!.secret, first!.secret, second!.secret, 'wrong', '')
    const scopes = ['openid', 'email', 'invoices:read', 'admin', '', 'urn:service:iam:org:projects:roles']
    const scope = fc.array(value(...scopes), { maxLength: 4 }).map((words) => words.join(' '))
    const field = fc.oneof(
      fc.tuple(fc.constant('grant_type'), value('client_credentials', 'client_credentials', 'password')),
      fc.tuple(fc.constant('client_id'), id),
      fc.tuple(fc.constant('client_secret'), secret),
      fc.tuple(fc.constant('scope'), scope),
      fc.tuple(value('resource', 'x', '__proto__'), value(ISSUER, 'x')),
    )
    const request = fc.record(
      {
        form: fc.oneof(
          fc.array(field, { maxLength: 6 }),
          fc.tuple(id, secret, scope, fc.subarray([0, 1, 2, 3])).map(([clientId, clientSecret, words, kept]) => {
            const usualForm = [
              ['grant_type', 'client_credentials'],
              ['client_id', clientId],
              ['client_secret', clientSecret],
              ['scope', words],
            ]
            return usualForm.filter((_, i) => kept.length < 2 || kept.includes(i)) as [string, string][]
          }),
        ),
        basic: fc.option(fc.tuple(id, secret), { freq: 2, nil: undefined }),
        chunked: fc.boolean(),
      },
      { requiredKeys: ['form', 'basic'] },
    )
    const plain = (grantType: string, clientSecret: string): [string, string][] => [
      ['grant_type', grantType],
      ['client_id', clients.clientId],
      ['client_secret', clientSecret],
    ]
    // Chance alone may leave one of the answers out.
    const examples = [
      plain('client_credentials', first!.secret),
      plain('client_credentials', 'wrong'),
      plain('password', first!.secret),
    ].map((form): [{ form: [string, string][]; basic: undefined; chunked: boolean }] => [
      { form, basic: undefined, chunked: false },
    ])
    const answers: { status: number; direct: boolean }[] = []
    await fc.assert(
      fc.asyncProperty(request, async ({ form, basic, chunked = false }) => {
        const authorization = basic === undefined ? {} : { authorization: basicCredentials(...basic) }
        const body = String(new URLSearchParams(form))
        answers.push(await compare(post, { name: 'random', body, headers: authorization, chunked }))
      }),
      { numRuns: 250, examples },
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 400, 401]))
    expect(answers.some((answer) => answer.direct)).toBe(true)
  })

  it('is one whose form may come in pieces', async () => {
    const socket = connect(direct.port, '127.0.0.1').setNoDelay(true)
    await once(socket, 'connect')
    const head = `POST /oauth/v2/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n`
    const text = `${head}content-length: ${String(usual.body).length}\r\n\r\n${usual.body}`
    let received = ''
    socket.setEncoding('latin1').on('data', (data) => {
      received += data
    })
    const calls = direct.engineCalls()
    for (const wrong of [false, true]) {
      received = ''
      for (const piece of (wrong ? text.replace('client_id=0', 'client_id=1') : text).match(/.{1,90}/gs) ?? []) {
        socket.write(piece)
        await new Promise(setImmediate)
      }
      await eventually(async () => expect(received).toMatch(wrong ? /^HTTP\/1.1 401 .*\}$/s : /^HTTP\/1.1 200 .*\}$/s))
    }
    expect(direct.engineCalls()).toBe(calls + 1)
    socket.destroy()
  })

  it('may break off in the middle, and nobody fails', async () => {
    const { answered } = direct.record()
    const socket = connect(direct.port, '127.0.0.1')
    await once(socket, 'connect')
    const type = 'content-type: application/x-www-form-urlencoded'
    socket.write(`POST /oauth/v2/token HTTP/1.1\r\nhost: x\r\n${type}\r\ncontent-length: 100\r\n\r\ngrant_type=`)
    await eventually(async () => expect(direct.record().answered).toHaveLength(answered.length))
    socket.destroy()
    await eventually(async () => expect(direct.record().answered).toHaveLength(answered.length + 1))
    expect(direct.record().answered.at(-1)).toMatchObject({ failure: 'aborted' })
    expect(direct.log.lines).toEqual([])
  })

  it('is signed by the key that is active when all of it is here', async () => {
    const server = await startTokenServer({
      issuer: ISSUER,
      keys,
      users,
      secrets,
      now: () => NOW,
      answers: 'from memory',
    })
    const text = String(usual.body)
    const head = 'POST /oauth/v2/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n'
    const answers = async (switchKeys: () => void): Promise<string> => {
      const socket = connect(server.port, '127.0.0.1').setEncoding('latin1')
      await once(socket, 'connect')
      socket.write(`${head}content-length: ${text.length}\r\n\r\n${text.slice(0, 20)}`)
      // A server that answers a later request has begun with this one.
      await post(server.url, usual)
      switchKeys()
      let received = ''
      socket.on('data', (data) => {
        received += data
      })
      socket.write(text.slice(20))
      await eventually(async () => expect(received).toMatch(/\}$/))
      socket.destroy()
      return received
    }
    try {
      const next = await newKeys()
      const received = await answers(() => server.switchTo(next))
      const token = (JSON.parse(received.slice(received.indexOf('{'))) as { access_token: string }).access_token
      expect(decodeProtectedHeader(token).kid).toBe(next.ring[0]?.keyId)
      expect(await answers(() => server.switchTo({ ring: [], signer: null }))).toMatch(/^HTTP\/1.1 503 /)
    } finally {
      await server.stop()
    }
  })

  it('costs one look-up of a user who is not in memory, and the next request on the connection is read', async () => {
    const socket = connect(cold.port, '127.0.0.1').setEncoding('latin1')
    await once(socket, 'connect')
    const head = 'POST /oauth/v2/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n'
    const text = `${head}content-length: ${String(usual.body).length}\r\n\r\n${usual.body}`
    const [lookUps, calls] = [cold.lookUps(), cold.engineCalls()]
    let received = ''
    socket.on('data', (data) => {
      received += data
    })
    // Without waiting for the first answer.
    socket.write(text + text)
    await eventually(async () => expect(received.match(/HTTP\/1.1 200 OK/g)).toHaveLength(2))
    expect([cold.lookUps(), cold.engineCalls()]).toEqual([lookUps + 2, calls])
    socket.destroy()
  })

  it('is told to come again if its user cannot be looked up', async () => {
    const lookUps = cold.lookUps()
    cold.failWith(new DomainError('storage_unavailable', 'the database is not available'))
    try {
      const answer = await post(cold.url, usual)
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '5'])
      expect(JSON.parse(answer.body)).toMatchObject({ error: 'temporarily_unavailable' })
      // The engine would have waited for the same failure again.
      expect(cold.lookUps()).toBe(lookUps + 1)
      const noted = { status: 503, failure: 'temporarily_unavailable', clientId }
      await eventually(async () => expect(cold.record().answered.at(-1)).toEqual(noted))
      expect(cold.log.lines).toEqual([])
    } finally {
      cold.failWith(undefined)
    }
  })

  it('is an HTTP error for openid-client if its user cannot be looked up, not an OAuth error [RFC 9110 §15.6.4]', async () => {
    const server = { issuer: ISSUER, token_endpoint: `${cold.url}/oauth/v2/token` }
    const configuration = new client.Configuration(server, clientId, undefined, client.ClientSecretPost(first!.secret))
    client.allowInsecureRequests(configuration)
    cold.failWith(new DomainError('storage_unavailable', 'the database is not available'))
    try {
      const error = await client.clientCredentialsGrant(configuration).catch((thrown: unknown) => thrown)
      expect(error).not.toBeInstanceOf(client.ResponseBodyError)
      expect(error).toMatchObject({ code: 'OAUTH_RESPONSE_IS_NOT_CONFORM', cause: expect.any(Response) })
      const { status, headers } = (error as { cause: Response }).cause
      expect([status, headers.get('retry-after')]).toEqual([503, '5'])
    } finally {
      cold.failWith(undefined)
    }
  })

  describe.each([
    ['with a wrong secret', 'wrong', 1],
    ['with the right secret', first!.secret, 0],
  ])('whose client leaves while its user is looked up, %s', (_, secret, failures) => {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: secret,
      // Not granted, so the engine has to answer.
      scope: 'admin',
    })
    const leaving = async (leave: () => Promise<void>): Promise<void> => {
      const { answered, failed } = cold.record()
      const lookUps = cold.lookUps()
      const release = cold.holdLookUps()
      try {
        await leave()
        await eventually(async () => expect(cold.record().answered).toHaveLength(answered.length + 1))
        expect([cold.lookUps(), cold.record().failed]).toEqual([lookUps + 1, failed])
      } finally {
        release()
      }
      // A request that comes later is answered later.
      await post(cold.url, usual)
      expect(cold.record().failed).toHaveLength(failed.length + failures)
    }
    const head = 'POST /oauth/v2/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n'
    const text = `${head}content-length: ${String(form).length}\r\n\r\n${form}`
    const send = async (bytes: string) => {
      const socket = connect(cold.port, '127.0.0.1').on('error', () => {})
      const lookUps = cold.lookUps()
      socket.write(bytes)
      await eventually(async () => expect(cold.lookUps()).toBe(lookUps + 1))
      return socket
    }

    it('is counted as failed if it has, when it closes its connection', () =>
      leaving(async () => {
        ;(await send(text)).resetAndDestroy()
      }))

    it('is counted as failed if it has, when it breaks the protocol after it', () =>
      leaving(async () => {
        await send(`${text}x\r\n\r\n`)
      }))

    it('is counted as failed if it has, when it takes the request back over HTTP/2', () =>
      leaving(async () => {
        const lookUps = cold.lookUps()
        const session = connectHttp2(cold.url)
        const request = { ':method': 'POST', ':path': '/oauth/v2/token' }
        const stream = session.request({
          ...request,
          'content-type': 'application/x-www-form-urlencoded',
          'content-length': String(form).length,
        })
        stream.on('error', () => {})
        stream.end(String(form))
        await eventually(async () => expect(cold.lookUps()).toBe(lookUps + 1))
        stream.close(NGHTTP2_CANCEL)
        session.close()
      }))
  })

  it('is looked up once, also if the engine refuses it', async () => {
    const refused = [
      { client_secret: 'wrong', scope: 'openid' },
      { client_secret: first!.secret, scope: 'admin' },
    ]
    for (const fields of refused) {
      const body = String(new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, ...fields }))
      const [lookUps, calls] = [cold.lookUps(), cold.engineCalls()]
      expect((await post(cold.url, { name: 'refused', body })).status).toBeGreaterThanOrEqual(400)
      expect([cold.lookUps(), cold.engineCalls()]).toEqual([lookUps + 1, calls + 1])
    }
  })

  it.each([
    ['a wrong secret', { client_secret: 'wrong' }],
    ['a scope that is not granted', { scope: 'admin' }],
    ['a client who does not exist', { client_id: clients.unknown }],
    ['a disabled client', { client_id: clients.disabled }],
    ['a wrong secret, for the engine', { client_secret: 'wrong', resource: ISSUER }],
    ['a client who does not exist, for the engine', { client_id: clients.unknown, resource: ISSUER }],
    ['an assertion by nobody', { client_assertion: clients.assertions.byNobody }],
    ['an assertion for another server', { client_assertion: clients.assertions.forElsewhere }],
  ])('is denied after one look at the database, with and without the user in memory: %s', async (_, fields) => {
    const proof =
      'client_assertion' in fields
        ? { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' }
        : { client_id: clientId, client_secret: first!.secret }
    const body = String(new URLSearchParams({ grant_type: 'client_credentials', ...proof, ...fields }))
    for (const server of [direct, cold, engine]) {
      const before = server.lookUps()
      expect([400, 401]).toContain((await post(server.url, { name: 'denied', body })).status)
      expect(server.lookUps()).toBe(before + 1)

      const { failed } = server.record()
      server.failWith(new DomainError('storage_unavailable', 'the database is not available'))
      const answer = await post(server.url, { name: 'not known', body })
      server.failWith(undefined)
      expect([answer.status, answer.headers['retry-after'], JSON.parse(answer.body)]).toEqual([
        503,
        '5',
        { error: 'temporarily_unavailable', error_description: expect.any(String) },
      ])
      expect(answer.headers).not.toHaveProperty('www-authenticate')
      expect(server.record().failed).toEqual(failed)
      await eventually(async () =>
        expect(server.record().answered.at(-1)).toMatchObject({ status: 503, failure: 'temporarily_unavailable' }),
      )
    }
  })

  it('is granted from memory without a look at the database, by the engine as well', async () => {
    const forTheEngine = String(new URLSearchParams([...new URLSearchParams(String(usual.body)), ['resource', ISSUER]]))
    for (const body of [String(usual.body), forTheEngine]) {
      const before = direct.lookUps()
      expect((await post(direct.url, { name: 'granted', body })).status).toBe(200)
      expect(direct.lookUps()).toBe(before)
    }
  })

  it('may be taken back over HTTP/2, and nobody fails', async () => {
    const { answered } = direct.record()
    const calls = direct.engineCalls()
    const session = connectHttp2(direct.url)
    await once(session, 'connect')
    const request = { ':method': 'POST', ':path': '/oauth/v2/token', 'content-length': '100' }
    const stream = session.request({ ...request, 'content-type': 'application/x-www-form-urlencoded' })
    stream.on('error', () => {})
    stream.write('grant_type=')
    await new Promise<void>((resolve, reject) => session.ping((error) => (error ? reject(error) : resolve())))
    stream.close(NGHTTP2_CANCEL)
    await eventually(async () => expect(direct.record().answered).toHaveLength(answered.length + 1))
    expect(direct.record().answered.at(-1)).toMatchObject({ status: 499, failure: 'aborted' })
    expect(direct.engineCalls()).toBe(calls)
    expect(direct.log.lines).toEqual([])
    session.close()
  })

  it('is not answered from an address that has failed too often, as if it had never been read', async () => {
    const options = {
      issuer: ISSUER,
      keys,
      users,
      secrets,
      now: () => NOW,
      answers: 'from memory' as const,
      maxFailures: 3,
    }
    const strict = await startTokenServer(options)
    try {
      for (let i = 0; i < 3; i += 1) strict.attempts.fail({ name: 'x', address: '127.0.0.1' })
      const answer = await post(strict.url, usual)
      expect([answer.status, answer.headers['retry-after']]).toEqual([429, '60'])
    } finally {
      await strict.stop()
    }
  })
})
