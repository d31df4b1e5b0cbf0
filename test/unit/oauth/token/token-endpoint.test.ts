import { once } from 'node:events'
import { connect as connectHttp2, constants } from 'node:http2'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeProtectedHeader } from 'jose'
import type { KeySnapshot } from '../../../../src/app/replica/replica-memory.ts'
import { DomainError } from '../../../../src/domain/errors.ts'
import { eventually } from '../../../support/eventually.ts'
import {
  clientId,
  clients,
  first,
  ISSUER,
  NOW,
  newKeys,
  secrets,
  startTokenServers,
  stopTokenServers,
  type TokenServer,
  type TokenServers,
  users,
  usual,
} from './token-clients.ts'
import { post, startTokenServer } from './token-server.ts'

const { NGHTTP2_CANCEL } = constants

let servers: TokenServers
let keys: KeySnapshot
let direct: TokenServer
let cold: TokenServer
let providerOnly: TokenServer

beforeAll(async () => {
  servers = await startTokenServers()
  ;({ keys, direct, cold, providerOnly } = servers)
})
afterAll(() => stopTokenServers(servers))

describe('a plain token request', () => {
  it('is signed by the key that is active when the form is complete', async () => {
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

  describe.each([
    ['with a wrong secret', 'wrong', 1],
    ['with the right secret', first!.secret, 0],
  ])('whose client leaves while its user is read, %s', (_, secret, failures) => {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: secret,
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

    it('is counted if it failed, when the connection is reset', () =>
      leaving(async () => {
        ;(await send(text)).resetAndDestroy()
      }))
  })

  it.each([
    ['a wrong secret', { client_secret: 'wrong' }],
    ['a scope that is not granted', { scope: 'admin' }],
    ['an unknown client', { client_id: clients.unknown }],
    ['a disabled client', { client_id: clients.disabled }],
    ['a wrong secret, for oidc-provider', { client_secret: 'wrong', resource: ISSUER }],
    ['an unknown client, for oidc-provider', { client_id: clients.unknown, resource: ISSUER }],
    ['an assertion with a wrong key', { client_assertion: clients.assertions.byOtherKey }],
    ['a certificate of another client', { client_secret: '' }],
    ['a certificate of an unknown client', { client_secret: '', client_id: clients.unknown }],
    ['an assertion for another server', { client_assertion: clients.assertions.forElsewhere }],
  ])('is denied after one read of the database, with and without the user in memory: %s', async (_, fields) => {
    const proof =
      'client_assertion' in fields
        ? { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' }
        : { client_id: clientId, client_secret: first!.secret }
    const body = String(new URLSearchParams({ grant_type: 'client_credentials', ...proof, ...fields }))
    for (const server of [direct, cold, providerOnly]) {
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

  it('is granted from memory without a read of the database, also by oidc-provider', async () => {
    const forTheProvider = String(
      new URLSearchParams([...new URLSearchParams(String(usual.body)), ['resource', ISSUER]]),
    )
    for (const body of [String(usual.body), forTheProvider]) {
      const before = direct.lookUps()
      expect((await post(direct.url, { name: 'granted', body })).status).toBe(200)
      expect(direct.lookUps()).toBe(before)
    }
  })

  it('that is reset over HTTP/2 counts as no failed authentication', async () => {
    const { answered } = direct.record()
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
    expect(direct.log.lines).toEqual([])
    session.close()
  })
})
