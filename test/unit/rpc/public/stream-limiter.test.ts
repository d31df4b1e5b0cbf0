import { once } from 'node:events'
import { Code, ConnectError } from '@connectrpc/connect'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { StreamLimiter } from '../../../../src/rpc/public/stream-limiter.ts'

let streams: StreamLimiter

beforeEach(() => {
  streams = new StreamLimiter({ total: 6, perAddress: 4, perConnection: 3 })
})

/** A client at an address, on a connection of its own. */
function client(address: string) {
  const connection = {}
  return (signal = new AbortController().signal) => streams.admit(signal, { address, connection, cutOff: () => {} })
}

function open(enter: () => AbortSignal, count: number): AbortSignal[] {
  return Array.from({ length: count }, () => enter())
}

const ended = (signals: readonly AbortSignal[]) => signals.map(({ aborted }) => aborted)

describe('a stream', () => {
  it('is refused when its connection holds as many as it may, until one of them ends', () => {
    const enter = client('a')
    const first = new AbortController()
    enter(first.signal)
    open(enter, 2)
    expect(enter).toThrow(expect.objectContaining({ code: Code.ResourceExhausted }))
    first.abort()
    expect(enter().aborted).toBe(false)
  })

  it('takes the place of the oldest one of the greediest connection when its address holds as many as it may', () => {
    const greedy = open(client('a'), 3)
    const other = open(client('a'), 1)
    const late = open(client('a'), 1)
    expect(ended([...greedy, ...other, ...late])).toEqual([true, false, false, false, false])
    expect(ConnectError.from(greedy[0]!.reason).code).toBe(Code.Unavailable)
  })

  it('takes the place of the oldest one of the greediest address when there are as many as there may be', () => {
    const small = open(client('b'), 2)
    const greedy = [...open(client('a'), 2), ...open(client('a'), 2)]
    const late = client('c')
    expect(ended([...small, ...greedy, late()])).toEqual([false, false, true, false, false, false, false])
    expect(ended([...small, ...greedy, late()])).toEqual([false, false, true, true, false, false, false])
    expect(late).toThrow(expect.objectContaining({ code: Code.ResourceExhausted }))
  })

  it('of a network of IPv6 counts for all of its addresses, among which one client can choose', () => {
    streams = new StreamLimiter({ total: 100, perAddress: 20, perConnection: 10 })
    const small = open(client('192.0.2.1'), 1)
    const greedy: AbortSignal[] = []
    for (let i = 0; i < 300; i += 1) {
      const enter = client(`2001:db8::${i.toString(16)}`)
      // From the 21st on each takes the place of another one of the network; ten may be ending at the same time.
      if (i < 20 + 10) greedy.push(enter())
      else expect(enter).toThrow(expect.objectContaining({ code: Code.ResourceExhausted }))
    }
    expect(ended(greedy).filter((isEnded) => !isEnded)).toHaveLength(20)
    expect(ended(small)).toEqual([false])
  })

  it('that loses its place counts until it has ended, and is cut off if it does not', async () => {
    streams = new StreamLimiter({ total: 2, perAddress: 2, perConnection: 2 }, 10)
    const calls: AbortController[] = []
    const enter = (address: string, connection: object) => {
      const call = new AbortController()
      const signal = streams.admit(call.signal, { address, connection, cutOff: () => call.abort() })
      calls.push(call)
      return signal
    }
    const [greedy, other] = [{}, {}]
    const first = enter('a', greedy)
    enter('a', greedy)
    enter('b', other)
    expect(first.aborted).toBe(true)
    expect(() => enter('a', greedy)).toThrow('2 such streams of this connection')
    expect(calls.map(({ signal }) => signal.aborted)).toEqual([false, false, false])
    await once(calls[0]!.signal, 'abort')
    expect(calls.map(({ signal }) => signal.aborted)).toEqual([true, false, false])
  })
})
