import { afterEach, describe, expect, it } from '@jest/globals'
import { closed } from '../../../support/closed.ts'
import {
  arrived,
  bodyOf,
  Client,
  GET,
  Held,
  listener,
  MAX,
  POST_UNREAD,
  session,
  start,
  stop,
  TLS,
  textOf,
} from './limited-server.ts'

afterEach(stop)

describe('a connection whose request is not read', () => {
  /** Opens all connections but one, each with a pending response. */
  async function fill(held: Held): Promise<Promise<Client>[]> {
    const answers = []
    for (let i = 1; i < MAX; i += 1) answers.push((await Client.open()).ask(GET.replace('/', '/held'), 'held'))
    await held.has(MAX - 1)
    return answers
  }

  it.each([
    ['in cleartext', null],
    ['with TLS', TLS],
  ])('is not evicted when the request is complete, over HTTP/1.1 %s', async (_name, tls) => {
    const held = new Held()
    await start(held, tls)
    const open = tls === null ? Client.open : Client.openTls
    const clients = []
    for (let i = 0; i < MAX; i += 1) clients.push(await open())
    const answers = clients.map((client) => client.ask(`${POST_UNREAD}some body`, 'held'))
    for (let i = 0; i < MAX; i += 1) await arrived(await held.unreadOne())

    for (let i = 0; i < 2; i += 1) await (await Client.open()).closed()
    for (const release of held.releases) release()
    await Promise.all(answers)
    await (await open()).ask(GET)
  })

  it('is evicted when half of the request has arrived, over HTTP/1.1', async () => {
    const held = new Held()
    await start(held)
    const answers = await fill(held)
    const half = await Client.open()
    half.socket.write(`${POST_UNREAD}some`)
    await held.unreadOne()
    const next = await Client.open()
    await half.closed()
    await next.ask(GET)
    for (const release of held.releases) release()
    await Promise.all(answers)
  })

  it('is not evicted with a complete request and half of the next one, until the first is answered', async () => {
    const held = new Held()
    await start(held)
    const answers = await fill(held)
    const releaseOthers = held.releases.splice(0)
    const client = await Client.open()
    client.socket.write(`${POST_UNREAD}some body${POST_UNREAD}some`)
    await arrived(await held.unreadOne())
    await held.unreadOne()

    await (await Client.open()).closed()
    held.releases[0]?.()
    await client.ask('', 'held')
    const next = await Client.open()
    await client.closed()
    await next.ask(GET)
    for (const release of releaseOthers) release()
    await Promise.all(answers)
  })

  it.each([
    ['in cleartext', null],
    ['with TLS', TLS],
  ])('is not evicted when the request is complete, over HTTP/2 %s', async (_name, tls) => {
    const held = new Held()
    await start(held, tls)
    const bodies = []
    for (let i = 0; i < MAX; i += 1) {
      const request = (await session()).request({ ':path': '/unread', ':method': 'POST' })
      request.end('some body')
      bodies.push(textOf(request))
      await arrived(await held.unreadOne())
    }

    for (let i = 0; i < 2; i += 1) await (await Client.open()).closed()
    for (const release of held.releases) release()
    expect(await Promise.all(bodies)).toEqual(['held', 'held', 'held'])
    expect(await bodyOf(await session())).toBe('answer')
  })

  it('is evicted when half of the request has arrived, over HTTP/2', async () => {
    const held = new Held()
    await start(held)
    const answers = await fill(held)
    const half = await session()
    const cut = closed(half)
    half
      .request({ ':path': '/unread', ':method': 'POST' })
      .on('error', () => {})
      .write('some')
    await held.unreadOne()
    const next = await Client.open()
    await cut
    await next.ask(GET)
    for (const release of held.releases) release()
    await Promise.all(answers)
  })

  it('is not evicted with a complete request and half of another one, until the first is answered, over HTTP/2', async () => {
    const held = new Held()
    await start(held)
    const answers = await fill(held)
    const releaseOthers = held.releases.splice(0)
    const both = await session()
    const cut = closed(both)
    both
      .request({ ':path': '/unread', ':method': 'POST' })
      .on('error', () => {})
      .write('some')
    await held.unreadOne()
    const whole = both.request({ ':path': '/unread', ':method': 'POST' })
    whole.end('some body')
    await arrived(await held.unreadOne())

    await (await Client.open()).closed()
    held.releases[1]?.()
    expect(await textOf(whole)).toBe('held')
    const next = await Client.open()
    await cut
    await next.ask(GET)
    for (const release of releaseOthers) release()
    await Promise.all(answers)
  })

  it('begins to wait anew when another of its requests is answered', async () => {
    const held = new Held()
    await start(held)
    const busy = await session()
    busy
      .request({ ':path': '/unread', ':method': 'POST' })
      .on('error', () => {})
      .write('some')
    await held.unreadOne()
    const slow = await Client.open()
    slow.socket.write(`${POST_UNREAD}some`)
    await held.unreadOne()
    const answer = (await Client.open()).ask(GET.replace('/', '/held'), 'held')
    await held.has(MAX)
    expect(await bodyOf(busy)).toBe('answer')

    await (await Client.open()).ask(GET)
    await slow.closed()
    expect(await bodyOf(busy)).toBe('answer')
    held.releases[2]?.()
    await answer
  })

  it('is evicted only once', async () => {
    const held = new Held()
    await start(held)
    const answers = await fill(held)
    const half = await Client.open()
    half.socket.write(`${POST_UNREAD}some`)
    const req = await held.unreadOne()
    const cut = new Promise((resolve) => req.once('close', resolve))
    const next = await Client.open()
    await Promise.all([half.closed(), cut])
    answers.push(next.ask(GET.replace('/', '/held'), 'held'))
    await held.has(MAX + 1)

    await (await Client.open()).closed()
    expect(listener.connections()).toBe(MAX)
    for (const release of held.releases) release()
    await Promise.all(answers)
  })

  it('is examined once, however many connections are opened', async () => {
    const held = new Held()
    await start(held)
    const answers = await fill(held)
    const answer = (await Client.open()).ask(`${POST_UNREAD}some body`, 'held')
    const req = await held.unreadOne()
    await arrived(req)
    let looks = 0
    Object.defineProperty(req, 'complete', {
      get: () => {
        looks += 1
        return true
      },
    })
    for (let i = 0; i < 3; i += 1) await (await Client.open()).closed()
    expect(looks).toBe(1)
    for (const release of held.releases) release()
    await Promise.all([...answers, answer])
  })
})
