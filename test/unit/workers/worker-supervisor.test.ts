import { describe, expect, it } from '@jest/globals'
import type { ServerFacts } from '../../../src/workers/protocol.ts'
import type { Exit, WorkerProcess } from '../../../src/workers/worker-process.ts'
import { WorkerSupervisor } from '../../../src/workers/worker-supervisor.ts'
import { createRecordingLog } from '../../support/log.ts'
import { ManualClock } from '../../support/manual-clock.ts'

const SERVER: ServerFacts = { listenUrl: 'http://127.0.0.1:1', baseUrl: 'http://localhost:1', initialised: false }
const CRASH: Exit = { code: 1, signal: null, failure: null }

/** A process that does what the test says. */
function createWorker(pid: number) {
  const ready = Promise.withResolvers<ServerFacts>()
  const exited = Promise.withResolvers<Exit>()
  const orders: string[] = []
  const process: WorkerProcess = {
    pid,
    ready: ready.promise,
    exited: exited.promise,
    holdsPort: true,
    open: () => {},
    lastMetrics: [],
    hasAnswered: true,
    measure: async () => {},
    stop: () => void orders.push('stop'),
    kill: () => {
      orders.push('kill')
      exited.resolve({ code: null, signal: 'SIGKILL', failure: null })
    },
  }
  return { process, orders, ready: () => ready.resolve(SERVER), exit: (exit = CRASH) => exited.resolve(exit) }
}

function setUp() {
  const clock = new ManualClock()
  const log = createRecordingLog()
  const workers: ReturnType<typeof createWorker>[] = []
  const fork = (): WorkerProcess => {
    const worker = createWorker(workers.length + 1)
    workers.push(worker)
    return worker.process
  }
  const supervisor = new WorkerSupervisor({ fork, onExit: () => {}, clock, log })
  /** Ends the newest process, and lets the supervisor see its exit. */
  const crash = async () => {
    workers.at(-1)?.exit()
    await settled()
  }
  return { clock, log, workers, supervisor, crash }
}

/** Lets everything happen that waits for nothing else. */
const settled = () => new Promise((done) => setImmediate(done))

describe('the supervisor of a worker', () => {
  it('restarts it with exponential backoff, up to half a minute', async () => {
    const { clock, workers, supervisor, crash } = setUp()
    supervisor.run()
    for (const wait of [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]) {
      const before = workers.length
      await crash()
      clock.advance(wait - 1)
      expect(workers).toHaveLength(before)
      clock.advance(1)
      expect(workers).toHaveLength(before + 1)
    }
    expect(supervisor.restarts).toBe(11)
  })

  it('begins the backoff again after a run of a minute', async () => {
    const { clock, workers, supervisor, crash } = setUp()
    supervisor.run()
    await crash()
    clock.advance(100)
    await crash()
    clock.advance(200)
    clock.advance(60_000)
    await crash()
    clock.advance(100)
    expect(workers).toHaveLength(4)
  })

  it('says in the log how the worker ended', async () => {
    const { log, workers, supervisor } = setUp()
    supervisor.run()
    workers[0]!.exit({ code: null, signal: 'SIGSEGV', failure: null })
    await settled()
    expect(log.lines).toEqual([
      'error a worker ended and will be restarted {"pid":1,"code":null,"signal":"SIGSEGV","restartInMillis":100}',
    ])
  })

  it('does not restart a first worker that was never ready', async () => {
    const { clock, workers, supervisor, crash } = setUp()
    const outcome = supervisor.tryFirst()
    await crash()
    expect(await outcome).toEqual({ kind: 'exited', exit: CRASH })
    clock.advance(60_000)
    expect(workers).toHaveLength(1)
  })

  it('restarts a first worker that was ready', async () => {
    const { clock, workers, supervisor, crash } = setUp()
    const outcome = supervisor.tryFirst()
    workers[0]!.ready()
    expect(await outcome).toEqual({ kind: 'serves', server: SERVER })
    await settled()
    expect(supervisor.ready).toBe(true)
    await crash()
    expect(supervisor.ready).toBe(false)
    clock.advance(100)
    expect(workers).toHaveLength(2)
  })

  it('does not restart after it was stopped during the backoff', async () => {
    const { clock, workers, supervisor, crash } = setUp()
    supervisor.run()
    await crash()
    await supervisor.stop(0)
    clock.advance(60_000)
    expect(workers).toHaveLength(1)
  })

  it.each([
    [0, 15_999],
    [5, 20_999],
  ])(
    'lets a worker finish after a drain of %d s, and ends one that takes 16 s longer',
    async (drainSeconds, almost) => {
      const { clock, workers, supervisor } = setUp()
      supervisor.run()
      const stopped = supervisor.stop(drainSeconds)
      clock.advance(almost)
      expect(workers[0]!.orders).toEqual(['stop'])
      clock.advance(1)
      await stopped
      expect(workers[0]!.orders).toEqual(['stop', 'kill'])
    },
  )
})
