/**
 * How long after the deactivation of a client secret was acknowledged each replica refuses it.
 *
 * A refusal takes at least 50 ms by itself, on purpose; that is part of the figures.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Administrator } from './administrator.ts'
import type { Replica } from './replicas.ts'
import { createServiceUser, deactivateSecret, generateSecret, type ServiceUserSecret } from './service-users.ts'
import type { TokenClient, TokenResult } from './token-request.ts'

const USERS = 3
/** As many as a user may have at a time. */
const SECRETS_OF_EACH = 10
const PAUSE_MILLIS = 400
/** A minute of them stays below the limit for a client from one address. */
const UNAVAILABLE_PAUSE_MILLIS = 700

/** Asks a replica for a token. */
export type AskAs = (replica: Replica, client: TokenClient) => Promise<TokenResult>

/** What deactivations are made with. */
export interface DeactivationOptions {
  readonly administrator: Administrator
  readonly replicas: readonly Replica[]
  readonly ask: AskAs
}

/** Makes secrets to be deactivated. Every replica gets to know their users, as it knows those of clients in use. */
export async function prepareSecrets(
  { administrator, replicas, ask }: DeactivationOptions,
  projectId: string,
): Promise<ServiceUserSecret[]> {
  const secrets: ServiceUserSecret[] = []
  for (let user = 0; user < USERS; user += 1) {
    const userId = await createServiceUser(administrator, projectId, `loses secrets ${user}`)
    for (let count = 0; count < SECRETS_OF_EACH; count += 1) secrets.push(await generateSecret(administrator, userId))
    const newest = secrets.at(-1)
    if (newest !== undefined) await Promise.all(replicas.map((replica) => ask(replica, newest)))
  }
  return secrets
}

/** Deactivations under way. */
export interface SecretDelay {
  /** In milliseconds, one for each secret and replica that lived through it. */
  readonly delays: readonly number[]
  /** Stops when the last one is refused everywhere. */
  stop(): Promise<void>
}

/** Deactivates one secret after the other. */
export function startDeactivations(
  secrets: readonly ServiceUserSecret[],
  { administrator, replicas, ask }: DeactivationOptions,
): SecretDelay {
  const delays: number[] = []
  const stopping = new AbortController()

  const untilRefused = async (replica: Replica, secret: ServiceUserSecret, since: number) => {
    for (;;) {
      const result = await ask(replica, secret)
      if (result.kind === 'rejected') return void delays.push(performance.now() - since)
      if (result.kind === 'failed' && result.failure !== 'unavailable') return
      // 503: nothing is denied without the database, and the secret gets no token either. Such attempts count, so not too many.
      await delay(result.kind === 'failed' ? UNAVAILABLE_PAUSE_MILLIS : 5)
    }
  }
  const run = async () => {
    for (const secret of secrets) {
      await delay(PAUSE_MILLIS, undefined, { signal: stopping.signal }).catch(() => {})
      if (stopping.signal.aborted) return
      const since = await deactivateSecret(administrator, secret)
      await Promise.all(replicas.map((replica) => untilRefused(replica, secret, since)))
    }
  }
  const running = run()
  return {
    delays,
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}
