import { describe, expect, it } from '@jest/globals'
import { HeartbeatWriter } from '../../../../src/app/replica/heartbeat-writer.ts'
import { DomainError } from '../../../../src/domain/errors.ts'
import type { Readiness } from '../../../../src/domain/ports/runtime.ts'
import type { Heartbeat } from '../../../../src/domain/replicas.ts'
import { createRecordingLog } from '../../../support/log.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

const IDENTITY = {
  replicaId: 'one',
  hostName: 'pod-1',
  keyturnVersion: '1.2.3',
  startedAt: new Date('2026-03-01T12:00:00Z'),
}

/** A writer, a store that can be made to fail or to wait, and the replica that it writes about. */
function create() {
  const clock = new ManualClock()
  const log = createRecordingLog()
  const done: (Heartbeat | string)[] = []
  const store = {
    behave: async () => {},
    beat: async (heartbeat: Heartbeat) => {
      await store.behave()
      done.push(heartbeat)
    },
    remove: async (replicaId: string) => {
      await store.behave()
      done.push(`removed ${replicaId}`)
    },
  }
  const state = { version: 3, lagSeconds: null as number | null, reachable: true, canWrite: true }
  const readiness = { now: { ready: true, warnings: ['a warning'] } as Readiness }
  const replica = {
    status: () => ({ version: state.version, lagSeconds: state.lagSeconds }) as never,
    isReachable: () => state.reachable,
  }
  const writer = new HeartbeatWriter({
    store,
    identity: IDENTITY,
    replica,
    readiness: () => readiness.now,
    canWrite: () => state.canWrite,
    clock,
    log,
  })
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  const pass = async (milliseconds: number) => {
    clock.advance(milliseconds)
    await settle()
  }
  return { writer, store, state, readiness, done, log, clock, settle, pass }
}

describe('the heartbeat of a replica', () => {
  it('is written at the start and every five seconds, as the replica is then', async () => {
    const { writer, state, readiness, done, settle, pass } = create()
    writer.start()
    await settle()
    const first = { ...IDENTITY, version: 3, lagSeconds: null, ready: true, reason: '' }
    expect(done).toEqual([first])
    state.version = 4
    state.lagSeconds = 0.02
    readiness.now = { ready: false, reason: 'x'.repeat(2000) }
    await pass(4999)
    expect(done).toHaveLength(1)
    await pass(1)
    expect(done[1]).toEqual({ ...IDENTITY, version: 4, lagSeconds: 0.02, ready: false, reason: 'x'.repeat(1000) })
    await pass(5000)
    expect(done).toHaveLength(3)
  })

  it('goes on after a failure, which is logged once a minute', async () => {
    const { writer, store, done, log, settle, pass } = create()
    store.behave = () => Promise.reject(new Error('no right'))
    writer.start()
    await settle()
    for (let count = 0; count < 11; count += 1) await pass(5000)
    expect(log.lines).toEqual([expect.stringContaining('warn the heartbeat of this replica could not be written')])
    await pass(5000)
    expect(log.lines).toHaveLength(2)
    store.behave = async () => {}
    await pass(5000)
    expect(done).toHaveLength(1)
  })

  it('is not tried without the database, and the log has no line about it', async () => {
    const { writer, store, state, done, log, settle, pass } = create()
    state.reachable = false
    store.behave = () => Promise.reject(new DomainError('storage_unavailable', 'away'))
    writer.start()
    await settle()
    await pass(5000)
    await writer.stop()
    expect([done, log.lines]).toEqual([[], []])
  })
})
