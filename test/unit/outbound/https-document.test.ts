/**
 * Documents from servers that do not behave, over real sockets.
 */
import type { lookup } from 'node:dns'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from '@jest/globals'
import { createAddressPolicy } from '../../../src/outbound/address-policy.ts'
import { createGetDocument } from '../../../src/outbound/issuer-key-fetch.ts'
import { type HttpsIssuer, json, startHttpsIssuer } from '../../support/https-issuer.ts'
import { createAuthority } from '../../support/server-certificates.ts'

const SETTING = 'KEYTURN_ISSUER_NETWORKS'
const authority = createAuthority()
const caCertificates = authority.cert
const HOUR = 3_600_000
const UNKNOWN_AUTHORITY = 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'

const started: { stop(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const server of started.splice(0)) await server.stop()
})

async function start(...args: Parameters<typeof startHttpsIssuer>): Promise<HttpsIssuer> {
  const server = await startHttpsIssuer(...args)
  started.push(server)
  return server
}

interface Options {
  readonly networks?: readonly string[]
  readonly lookup?: typeof lookup
  readonly signal?: AbortSignal
  readonly ca?: string | null
}

/** The text of a document, or why there is none. */
async function outcomeOf(url: string, options: Options = {}): Promise<string> {
  const { networks = ['127.0.0.0/8', '::1'], signal = new AbortController().signal, ca = caCertificates } = options
  const get = createGetDocument({
    allows: createAddressPolicy(networks),
    setting: SETTING,
    ...(options.lookup === undefined ? {} : { lookup: options.lookup }),
  })
  const document = get(url, { caCertificates: ca, signal })
  return document.catch((error: Error) => error.message)
}

/** Resolves names to these addresses, one list for each question. */
function resolving(...answers: readonly (readonly string[])[]): { lookup: typeof lookup; questions: string[] } {
  const questions: string[] = []
  const answer = (name: string, _options: object, callback: (error: null, addresses: object[]) => void) => {
    const addresses = answers[Math.min(questions.length, answers.length - 1)] ?? []
    questions.push(name)
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
  return { lookup: answer as unknown as typeof lookup, questions }
}

describe('getting a document', () => {
  it.each<[string, string, (server: HttpsIssuer) => void]>([
    ['a status that is no success', 'answers with status 503', (server) => server.answer('/', json({}, {}, 503))],
    [
      'a redirect',
      'answers with a redirect, which is not followed',
      (server) => server.answer('/', (response) => response.writeHead(301, { location: '/other' }).end()),
    ],
    [
      'a gzip bomb',
      'answers in a compressed form',
      (server) =>
        server.answer('/', (response) =>
          response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(10_000_000))),
        ),
    ],
    [
      'another protocol',
      'answers with status 101',
      (server) =>
        server.answer('/', ({ socket }) =>
          socket?.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
        ),
    ],
    [
      'headers that are too long',
      'cannot be reached (HPE_HEADER_OVERFLOW)',
      (server) => server.answer('/', (response) => response.writeHead(200, { 'x-long': 'x'.repeat(20_000) }).end()),
    ],
  ])('refuses %s', async (_, reason, answer) => {
    const server = await start(authority)
    answer(server)
    expect(await outcomeOf(`${server.url}/`)).toBe(`${server.url}/ ${reason}`)
    expect(server.requests).toEqual(['/'])
  })

  it.each(['announced', 'not announced'])('stops reading 100 MB, %s, after 256 KiB', async (kind) => {
    const server = await start(authority)
    const chunk = Buffer.alloc(64 * 1024, ' ')
    const { promise: sent, resolve } = Promise.withResolvers<number>()
    server.answer('/', (response) => {
      response.writeHead(200, kind === 'announced' ? { 'content-length': 100_000_000 } : {})
      let bytes = 0
      const write = () => {
        while (!response.destroyed && bytes < 100_000_000) {
          bytes += chunk.length
          if (!response.write(chunk)) return response.once('drain', write)
        }
      }
      response.once('close', () => resolve(bytes))
      write()
    })
    expect(await outcomeOf(`${server.url}/`)).toBe(`${server.url}/ answers with more than 262144 bytes`)
    // What the kernel takes comes on top.
    expect(await sent).toBeLessThan(20_000_000)
  })

  it.each<[string, (server: HttpsIssuer) => void]>([
    ['before its headers', (server) => server.answer('/', () => {})],
    [
      'in its body, after each byte',
      (server) =>
        server.answer('/', (response) => {
          response.writeHead(200)
          const drip = setInterval(() => response.write(' '), 5)
          response.once('close', () => clearInterval(drip))
        }),
    ],
  ])('gives up when it is told to, if the server stalls %s', async (_, answer) => {
    const server = await start(authority)
    answer(server)
    expect(await outcomeOf(`${server.url}/`, { signal: AbortSignal.timeout(100) })).toMatch(/timeout/)
  })

  it.each<[string, string, Parameters<typeof startHttpsIssuer>]>([
    ['another name', 'ERR_TLS_CERT_ALTNAME_INVALID', [authority, authority.issue({ names: ['other.example'] })]],
    ['another authority', UNKNOWN_AUTHORITY, [authority, createAuthority('Other').issue()]],
    [
      'the past',
      'CERT_HAS_EXPIRED',
      [authority, authority.issue({ from: new Date(Date.now() - 2 * HOUR), to: new Date(Date.now() - HOUR) })],
    ],
    [
      'the future',
      'CERT_NOT_YET_VALID',
      [authority, authority.issue({ from: new Date(Date.now() + HOUR), to: new Date(Date.now() + 2 * HOUR) })],
    ],
  ])('refuses a certificate of %s', async (_, code, args) => {
    const server = await start(...args)
    const hint = code === UNKNOWN_AUTHORITY ? ': if its authority is meant, name it (--issuer-ca, ca_certificates)' : ''
    expect(await outcomeOf(`${server.url}/`)).toBe(
      `${server.url}/ has a certificate that is not trusted (${code})${hint}`,
    )
    expect(server.requests).toEqual([])
  })

  it.each([
    'http://localhost/',
    'ftp://localhost/',
    'https://user@localhost/',
    'https://:secret@localhost/',
    'localhost',
    '',
  ])('refuses the URL %j, and does not repeat it', async (url) => {
    expect(await outcomeOf(url)).toBe('the URL of the keys is no https URL, or has a user in it')
  })
})

describe('the address of a document', () => {
  const refusal = (address: string) =>
    `is at the address ${address}, which is not allowed: if it is meant, list it in ${SETTING} and restart the server`

  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['①②⑦.0.0.1', '127.0.0.1'],
    ['10.0.0.1', '10.0.0.1'],
    ['169.254.169.254', '169.254.169.254'],
    ['[::1]', '::1'],
    ['[::ffff:127.0.0.1]', '::ffff:7f00:1'],
    ['[64:ff9b::7f00:1]', '64:ff9b::7f00:1'],
  ])('is refused as it is connected to, however it is spelt: %s', async (host, address) => {
    expect(await outcomeOf(`https://${host}:1/`, { networks: [] })).toBe(
      `${new URL(`https://${host}:1/`).href} ${refusal(address)}`,
    )
  })

  it('is refused for a name that resolves to it', async () => {
    const server = await start(authority)
    expect(await outcomeOf(`${server.url}/`, { networks: [] })).toMatch(
      / is at the address (127\.0\.0\.1|::1), which is not allowed/,
    )
    const { lookup } = resolving(['169.254.169.254', 'fd00:ec2::254'])
    expect(await outcomeOf('https://cloud.example/', { networks: [], lookup })).toBe(
      `https://cloud.example/ ${refusal('169.254.169.254')}`,
    )
    expect(server.requests).toEqual([])
  })

  it.each([[['127.0.0.1', '10.0.0.1']], [['10.0.0.1', '127.0.0.1']]])(
    'is refused for a name that resolves to it beside one that is allowed: %j',
    async (addresses) => {
      const server = await start(authority, authority.issue({ names: ['issuer.example'] }))
      server.answer('/', json('good'))
      const url = `https://issuer.example:${server.port}/`
      const outcome = await outcomeOf(url, { networks: ['127.0.0.1'], lookup: resolving(addresses).lookup })
      expect(outcome).toBe(`${url} ${refusal('10.0.0.1')}`)
      expect(server.requests).toEqual([])
    },
  )

  it('is asked for once, and connected to as it was checked, so that a name cannot be bound to another one (DNS rebinding)', async () => {
    const server = await start(authority, authority.issue({ names: ['rebind.example'] }))
    server.answer('/', json('good'))
    const { lookup, questions } = resolving(['127.0.0.1'], ['127.0.0.2'])
    const url = `https://rebind.example:${server.port}/`
    expect(await outcomeOf(url, { networks: ['127.0.0.1'], lookup })).toBe('"good"')
    expect(questions).toEqual(['rebind.example'])
    expect(await outcomeOf(url, { networks: ['127.0.0.1'], lookup })).toBe(`${url} ${refusal('127.0.0.2')}`)
  })
})
