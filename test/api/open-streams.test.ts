/**
 * Clients that open as many streams as they can, and others who want one.
 */
import { once } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  type Settings,
} from 'node:http2'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, expect } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { checkHealth } from '../support/grpc-health.ts'
import { type Keyturn, removeFolder, startKeyturnInProcess } from '../support/keyturn.ts'
import { itUnless, NOT_LINUX } from '../support/unless.ts'

/** As many as one connection may have (RFC 9113 §6.5.2, SETTINGS_MAX_CONCURRENT_STREAMS). */
const STREAMS = 100
/** A request with an empty message, and one for the list of services (field 7, the text "*"). */
const EMPTY = Buffer.from('0000000000', 'hex')
const LIST_SERVICES = Buffer.from('00000000033a012a', 'hex')

/** The one has all of its request before the first answer, the other goes on asking. */
const WATCH = { path: '/grpc.health.v1.Health/Watch', message: EMPTY, asksOnce: true }
const REFLECTION = {
  path: '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  message: LIST_SERVICES,
  asksOnce: false,
}

/** A service that has large messages (field 4), asked for so often that the answers fill every buffer on the way. */
const SYMBOL = Buffer.from('iam.user.v2.ServiceUserService')
const ASK_FOR_IT = Buffer.from([0, 0, 0, 0, SYMBOL.length + 2, 0x22, SYMBOL.length, ...SYMBOL])
const MUCH = { ...REFLECTION, message: Buffer.concat(Array.from({ length: 50 }, () => ASK_FOR_IT)) }

let server: Keyturn
const sessions: ClientHttp2Session[] = []

beforeAll(async () => {
  server = await startKeyturnInProcess()
})
afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy()
})
afterAll(async () => {
  await server?.stop()
  if (server !== undefined) await removeFolder(server.dataDir)
})

async function session(localAddress: string, settings: Settings = {}): Promise<ClientHttp2Session> {
  const port = Number(new URL(server.listenUrl).port)
  const created = connectHttp2(server.listenUrl, {
    settings,
    createConnection: () => connect({ port, host: '127.0.0.1', localAddress }),
  })
  created.on('error', () => {})
  sessions.push(created)
  await once(created, 'remoteSettings')
  return created
}

/** A stream of gRPC. */
class Stream {
  /** Bytes of messages. */
  received = 0
  /** `grpc-status`, once it has ended. */
  status: number | undefined
  readonly settled: Promise<unknown>
  readonly answered: Promise<unknown>
  /** With which code of HTTP/2 it was closed. */
  readonly closed: Promise<number | undefined>
  isClosed = false

  constructor(on: ClientHttp2Session, { path, message, asksOnce }: typeof WATCH) {
    const stream: ClientHttp2Stream = on.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    const see = (head: object) => {
      if ('grpc-status' in head) this.status = Number(head['grpc-status'])
    }
    stream.on('error', () => {})
    stream.on('response', see).on('trailers', see)
    stream.on('data', (chunk: Buffer) => {
      this.received += chunk.length
    })
    this.settled = new Promise((resolve) => stream.once('data', resolve).once('close', resolve))
    this.answered = new Promise((resolve) => stream.once('response', resolve))
    this.closed = new Promise((resolve) => stream.once('close', () => resolve(stream.rstCode)))
    stream.once('close', () => {
      this.isClosed = true
    })
    if (asksOnce) stream.end(message)
    else stream.write(message)
  }

  get isOpen(): boolean {
    return this.received > 0 && this.status === undefined
  }
}

/** Codes of gRPC. */
const RESOURCE_EXHAUSTED = 8
const UNAVAILABLE = 14

for (const { name, call, connections, most } of [
  { name: '11 connections that watch the health', call: WATCH, connections: 11, most: 200 },
  { name: '2 connections that ask for the schema', call: REFLECTION, connections: 2, most: 20 },
]) {
  itUnless(NOT_LINUX)(
    `${name} as often as they can keep no other connection and no other address from it`,
    async () => {
      const greedy: Stream[] = []
      for (let i = 0; i < connections; i += 1) {
        const on = await session('127.0.0.1')
        const streams = Array.from({ length: STREAMS }, () => new Stream(on, call))
        await Promise.all(streams.map(({ settled }) => settled))
        greedy.push(...streams)
      }
      const held = () => greedy.filter(({ isOpen }) => isOpen).length
      await eventually(() => expect(held()).toBe(most))
      expect(await checkHealth(server.listenUrl)).toBe('SERVING')

      const others = [new Stream(await session('127.0.0.1'), call), new Stream(await session('127.0.0.2'), call)]
      await Promise.all(others.map(({ settled }) => settled))
      expect(others.map(({ isOpen }) => isOpen)).toEqual([true, true])
      await eventually(() => expect(held()).toBe(most - 1))
      const statuses = new Set(greedy.map(({ status }) => status))
      expect(statuses).toEqual(new Set([undefined, RESOURCE_EXHAUSTED, UNAVAILABLE]))
    },
  )
}

itUnless(NOT_LINUX)('a stream that loses its place is cut off if its client takes nothing', async () => {
  const stalled: Stream[] = []
  for (const _ of ['first', 'second']) {
    const on = await session('127.0.0.3', { initialWindowSize: 0 })
    stalled.push(...Array.from({ length: 10 }, () => new Stream(on, MUCH)))
    await Promise.all(stalled.map(({ answered }) => answered))
  }
  const late = new Stream(await session('127.0.0.3'), REFLECTION)
  await late.settled
  expect(late.isOpen).toBe(true)
  expect(await stalled[0]!.closed).toBe(constants.NGHTTP2_CANCEL)
  // Every answer that is not taken is cut off after 15 seconds at the earliest, and all of these at once.
  expect(await checkHealth(server.listenUrl)).toBe('SERVING')
  expect(stalled.slice(1).some(({ isClosed }) => isClosed)).toBe(false)
})
