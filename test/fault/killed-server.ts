/**
 * A server that is killed at the moment it acknowledges a change, among many others, and what it had acknowledged.
 */
import { expect } from '@jest/globals'
import { State } from '../../gen/iam/webkey/v2beta/web_key_pb.js'
import type { KeyturnProcess } from '../support/keyturn.ts'
import { ED25519, login } from '../support/restarted-server.ts'

const CHANGES_PER_ROUND = 15

/** How to kill it. */
export interface KillOptions {
  /** At which acknowledgement. */
  readonly deadly: 'creation' | 'activation'
  /** How often. */
  readonly rounds: number
  /** Starts it again. */
  readonly start: () => Promise<KeyturnProcess>
}

/**
 * Changes keys, kills the server and starts it again, for some rounds, and expects every change that was acknowledged.
 *
 * @returns The last one, which runs.
 */
export async function expectChangesToSurvive(
  first: KeyturnProcess,
  { deadly, rounds, start }: KillOptions,
): Promise<KeyturnProcess> {
  let server = first
  const acknowledged = new Set<string>()
  let activated: string | undefined
  let activating: string | undefined

  for (let round = 1; ; round += 1) {
    const client = await login(server)
    const { webKeys } = await client.listWebKeys({})
    expect(webKeys.map(({ keyId }) => keyId)).toEqual(expect.arrayContaining([...acknowledged]))
    const active = webKeys.filter(({ state }) => state === State.ACTIVE).map(({ keyId }) => keyId)
    expect(active).toHaveLength(1)
    // The last activation that was answered holds, unless the one after it was done and its answer got lost.
    if (round > 1) expect([activated, activating]).toContain(active[0])

    if (round > rounds) return server

    const killed = server.process
    const killAfter = (change: string) => {
      if (change === deadly && acknowledged.size >= round * CHANGES_PER_ROUND) killed.kill('SIGKILL')
    }
    const create = async () => {
      const { details } = await client.createWebKey(ED25519)
      acknowledged.add(details!.keyId)
      killAfter('creation')
      return details!.keyId
    }
    // Each stream goes on until the server is gone.
    const creating = async (): Promise<never> => {
      for (;;) await create()
    }
    const rotating = async (): Promise<never> => {
      for (;;) {
        activating = await create()
        await client.activateWebKey({ keyId: activating })
        activated = activating
        killAfter('activation')
      }
    }
    await Promise.allSettled([creating(), creating(), creating(), rotating()])
    await server.kill()
    server = await start()
  }
}
