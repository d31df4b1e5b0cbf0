/**
 * Clients that get tokens all the time, as through a load balancer: round the replicas, and on to the next one when one
 * refuses the connection, breaks it or answers 503.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Replica } from './replicas.ts'

const CLIENTS = 4
/** Of all clients together. What the machine does besides is the subject of the test. */
const TOKENS_PER_SECOND = 100
/** Before the next replica is tried. */
const PAUSE_MILLIS = 5

/** Asks a replica for one token, books what came of it, and says whether there was one. */
export type GetToken = (replica: Replica) => Promise<boolean>

/** Starts the clients. Returns what stops them, and waits for their last requests. */
export function startTokenLoad(replicas: readonly Replica[], getToken: GetToken): () => Promise<void> {
  const stopping = new AbortController()
  const goRound = async (index: number) => {
    const interval = (CLIENTS * 1000) / TOKENS_PER_SECOND
    let next = performance.now() + (index * interval) / CLIENTS
    for (let turn = index; !stopping.signal.aborted; turn += 1) {
      const replica = replicas[turn % replicas.length]
      if (replica === undefined || !(await getToken(replica))) {
        await delay(PAUSE_MILLIS)
        continue
      }
      next = Math.max(next + interval, performance.now())
      await delay(Math.max(0, next - performance.now()))
    }
  }
  const clients = Array.from({ length: CLIENTS }, (_, index) => goRound(index))
  return async () => {
    stopping.abort()
    await Promise.all(clients)
  }
}
