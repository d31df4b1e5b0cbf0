/**
 * Load over HTTP/1.1, in a closed loop (each connection asks again when it has its answer) or at a fixed rate.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type Answer, Connection } from './connection.ts'
import type { HttpJob, Measurement } from './job.ts'
import { requestsOf } from './signed-requests.ts'
import { Window } from './window.ts'

/** How many requests may wait for a connection, at a fixed rate, before the server counts as overloaded. */
const MAX_WAITING = 10_000

/** Runs a job. */
export async function runHttpLoad(job: HttpJob): Promise<Measurement> {
  const connections = Array.from({ length: job.concurrency }, () => new Connection(job.url))
  const window = new Window(job.pids)
  const ask = asker(job, window)
  const ending = new AbortController()
  if (job.staysAwake === true) stayAwake(ending.signal)
  const load =
    job.ratePerSecond === undefined
      ? closedLoop(connections, ask, ending.signal)
      : fixedRate(connections, ask, { ratePerSecond: job.ratePerSecond, window, signal: ending.signal })
  await delay(job.warmUpSeconds * 1000)
  window.open()
  await delay(job.seconds * 1000)
  const measured = window.close()
  ending.abort()
  await load
  for (const connection of connections) connection.close()
  return measured
}

/** Sends one request that was due at a time, and calls back when it is over. */
type Ask = (connection: Connection, dueAt: number, done: (failed: boolean) => void) => void

function asker(job: HttpJob, window: Window): Ask {
  const { expectedStatus } = job
  const nextRequest = requestsOf(job)
  const sampleEvery = job.samples === 0 ? Number.POSITIVE_INFINITY : (job.seconds * 1000) / job.samples
  let nextSampleAt = 0
  return (connection, dueAt, done) => {
    connection.ask(nextRequest(), (answer: Answer | Error) => {
      const now = performance.now()
      if (answer instanceof Error || answer.status !== expectedStatus) {
        window.failed(answer instanceof Error ? answer.message : `${answer.status} ${answer.body}`)
        return done(true)
      }
      window.answered(now - dueAt)
      if (window.isOpen && now >= nextSampleAt) {
        nextSampleAt = now + sampleEvery
        window.sample(answer.body.toString())
      }
      done(false)
    })
  }
}

/** Looks for answers all the time instead of sleeping until there is one. */
function stayAwake(signal: AbortSignal): void {
  if (!signal.aborted) setImmediate(stayAwake, signal)
}

async function closedLoop(connections: readonly Connection[], ask: Ask, signal: AbortSignal): Promise<void> {
  const loop = (connection: Connection) =>
    new Promise<void>((resolve) => {
      const next = () => {
        if (signal.aborted) return resolve()
        ask(connection, performance.now(), (failed) => {
          // A server that refuses connections is not asked as fast as that can be.
          if (failed) setTimeout(next, 10)
          else next()
        })
      }
      next()
    })
  await Promise.all(connections.map(loop))
}

/**
 * A request is due when the clock of this loop says so, once a millisecond. What it waits for a free connection counts;
 * what this process is late does not.
 */
async function fixedRate(
  connections: readonly Connection[],
  ask: Ask,
  options: { readonly ratePerSecond: number; readonly window: Window; readonly signal: AbortSignal },
): Promise<void> {
  const { ratePerSecond, window, signal } = options
  const free = [...connections]
  const waiting: number[] = []
  const beganAt = performance.now()
  let sent = 0
  const dispatch = () => {
    for (let connection = free.pop(); connection !== undefined; connection = free.pop()) {
      const dueAt = waiting.shift()
      if (dueAt === undefined) return void free.push(connection)
      const used = connection
      ask(used, dueAt, () => {
        free.push(used)
        dispatch()
      })
    }
  }
  while (!signal.aborted) {
    const now = performance.now()
    for (const due = ((now - beganAt) / 1000) * ratePerSecond; sent < due; sent += 1) {
      if (waiting.length < MAX_WAITING) waiting.push(now)
      else window.failed('the server does not keep up with the rate')
    }
    dispatch()
    await delay(1)
  }
  waiting.length = 0
  while (free.length < connections.length) await delay(1)
}
