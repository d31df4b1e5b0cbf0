import { describe, expect, it } from '@jest/globals'
import type { ServerFacts } from '../../../src/workers/protocol.ts'
import type { Exit, WorkerProcess } from '../../../src/workers/worker-process.ts'
import { WorkerSupervisor } from '../../../src/workers/worker-supervisor.ts'
import { createRecordingLog } from '../../support/log.ts'
import { ManualClock } from '../../support/manual-clock.ts'

const SERVER: ServerFacts = { listenUrl: 'http://127.0.0.1:1', baseUrl: 'http://localhost:1', initialised: false }
const CRASH: Exit = { code: 1, signal: null, failure: null }

/** A process that does what the test says. */
function createPuppet(pid: number) {
  const ready = Promise.withResolvers<ServerFacts>()
  const exited = Promise.withResolvers<Exit>()
  const orders: string[] = []
  const worker: WorkerProcess = {
    pid,
    ready: ready.promise,
    exited: exited.promise,
    holdsPort: true,
    open: () => {},
    lastMetrics: '',
    hasAnswered: true,
    measure: async () => {},
    stop: () => void orders.push('stop'),
    kill: () => {
      orders.push('kill')
      exited.resolve({ code: null, signal: 'SIGKILL', failure: null })
    },
  }
  return { worker, orders, ready: () => ready.resolve(SERVER), exit: (exit = CRASH) => exited.resolve(exit) }
}

function setUp() {
  const clock = new ManualClock()
  const log = createRecordingLog()
  const puppets: ReturnType<typeof createPuppet>[] = []
  const fork = (): WorkerProcess => {
    const puppet = createPuppet(puppets.length + 1)
    puppets.push(puppet)
    return puppet.worker
  }
  const slot = new WorkerSupervisor({ fork, onEnd: () => {}, clock, log })
  /** Ends the newest process, and lets the slot hear of it. */
  const crash = async () => {
    puppets.at(-1)?.exit()
    await settled()
  }
  return { clock, log, puppets, slot, crash }
}

/** Lets everything happen that waits for nothing else. */
const settled = () => new Promise((done) => setImmediate(done))

describe('the place of a worker', () => {
  it('is filled again, each time after twice the wait, which does not grow beyond half a minute', async () => {
    const { clock, puppets, slot, crash } = setUp()
    slot.run()
    for (const wait of [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]) {
      const before = puppets.length
      await crash()
      clock.advance(wait - 1)
      expect(puppets).toHaveLength(before)
      clock.advance(1)
      expect(puppets).toHaveLength(before + 1)
    }
    expect(slot.restarts).toBe(11)
  })

  it('is filled soon again after a worker that ran for a minute', async () => {
    const { clock, puppets, slot, crash } = setUp()
    slot.run()
    await crash()
    clock.advance(100)
    await crash()
    clock.advance(200)
    clock.advance(60_000)
    await crash()
    clock.advance(100)
    expect(puppets).toHaveLength(4)
  })

  it('says in the log how the worker ended', async () => {
    const { log, puppets, slot } = setUp()
    slot.run()
    puppets[0]!.exit({ code: null, signal: 'SIGSEGV', failure: null })
    await settled()
    expect(log.lines).toEqual([
      'error a worker ended and will be restarted {"pid":1,"code":null,"signal":"SIGSEGV","restartInMillis":100}',
    ])
  })

  it('stays empty after a first worker that never served', async () => {
    const { clock, puppets, slot, crash } = setUp()
    const outcome = slot.tryFirst()
    await crash()
    expect(await outcome).toEqual({ kind: 'ended', exit: CRASH })
    clock.advance(60_000)
    expect(puppets).toHaveLength(1)
  })

  it('is filled again after a first worker that served', async () => {
    const { clock, puppets, slot, crash } = setUp()
    const outcome = slot.tryFirst()
    puppets[0]!.ready()
    expect(await outcome).toEqual({ kind: 'serves', server: SERVER })
    await settled()
    expect(slot.ready).toBe(true)
    await crash()
    expect(slot.ready).toBe(false)
    clock.advance(100)
    expect(puppets).toHaveLength(2)
  })

  it('stays empty when it was stopped while it waited', async () => {
    const { clock, puppets, slot, crash } = setUp()
    slot.run()
    await crash()
    await slot.stop(0)
    clock.advance(60_000)
    expect(puppets).toHaveLength(1)
  })

  it.each([
    [0, 14_999],
    [5, 19_999],
  ])(
    'lets a worker finish after a drain of %d s, and ends one that takes 15 s longer',
    async (drainSeconds, almost) => {
      const { clock, puppets, slot } = setUp()
      slot.run()
      const stopped = slot.stop(drainSeconds)
      clock.advance(almost)
      expect(puppets[0]!.orders).toEqual(['stop'])
      clock.advance(1)
      await stopped
      expect(puppets[0]!.orders).toEqual(['stop', 'kill'])
    },
  )
})
