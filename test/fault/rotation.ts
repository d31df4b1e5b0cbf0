/**
 * Rotates keys without a pause: ten times a second a key is created, the oldest known one activated, and those that
 * nobody needs any more are deleted, each through a replica picked by chance.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Administrator } from './administrator.ts'
import type { Ledger } from './ledger.ts'
import { MAX_AGE_SECONDS, TOKEN_LIFETIME_SECONDS } from './replicas.ts'

const WEB_KEYS = 'iam.webkey.v2beta.WebKeyService'
const EVERY_MILLIS = 100
/** A replica hears of a change at the latest at its next comparison of versions, a second later, and reads it when it gets the CPU. */
const HEARING_MILLIS = 3000
/** From then on every verifier has a key set with the new key. */
const ACTIVATE_AFTER_MILLIS = MAX_AGE_SECONDS * 1000 + HEARING_MILLIS
/** From then on no token is left that the key has signed. */
const DELETE_AFTER_MILLIS = (TOKEN_LIFETIME_SECONDS + MAX_AGE_SECONDS) * 1000 + HEARING_MILLIS

interface Dated {
  readonly keyId: string
  readonly at: number
}

/** A rotation under way. */
export interface Rotation {
  /** Deletions that were asked for, answered or not. */
  readonly deletionsBegun: ReadonlySet<string>
  /** Stops when the calls under way are answered. */
  stop(): Promise<void>
}

/** What a rotation is made of. */
export interface RotationOptions {
  readonly administrator: Administrator
  readonly ledger: Ledger
}

/** Starts rotating. */
export function startRotation({ administrator, ledger }: RotationOptions): Rotation {
  const initial: Dated[] = []
  const retired: Dated[] = []
  const deletionsBegun = new Set<string>()
  const stopping = new AbortController()
  let active: string | undefined

  const create = async () => {
    const outcome = await administrator.insist<{ details: { keyId: string } }>(`${WEB_KEYS}/CreateWebKey`, {
      config: { ed25519: {} },
    })
    ledger.unansweredCreations += outcome.unanswered
    if (outcome.kind === 'refused') return ledger.wrong(`a creation was refused: ${outcome.code} ${outcome.message}`)
    const { keyId } = outcome.value.details
    ledger.acknowledge('create', keyId)
    initial.push({ keyId, at: performance.now() })
  }

  const activate = async () => {
    const keyId = takeOlderThan(initial, ACTIVATE_AFTER_MILLIS)
    if (keyId === undefined) return
    // Nothing overtakes it: the next activation comes after the answer to this one.
    const outcome = await administrator.insist(`${WEB_KEYS}/ActivateWebKey`, { keyId })
    if (outcome.kind === 'refused') return ledger.wrong(`an activation was refused: ${outcome.code} ${outcome.message}`)
    ledger.acknowledge('activate', keyId)
    if (active !== undefined) retired.push({ keyId: active, at: performance.now() })
    active = keyId
  }

  const remove = async () => {
    const keyId = takeOlderThan(retired, DELETE_AFTER_MILLIS)
    if (keyId === undefined) return
    deletionsBegun.add(keyId)
    const outcome = await administrator.insist(`${WEB_KEYS}/DeleteWebKey`, { keyId })
    // An attempt that was not answered may have deleted it.
    const isGone = outcome.kind === 'refused' && outcome.code === 'not_found' && outcome.unanswered > 0
    if (outcome.kind === 'done' || isGone) return ledger.acknowledge('delete', keyId)
    ledger.wrong(`a deletion was refused: ${outcome.code} ${outcome.message}`)
  }

  const rotate = async () => {
    while (!stopping.signal.aborted) {
      const next = performance.now() + EVERY_MILLIS
      await Promise.all([create(), activate(), remove()])
      await delay(Math.max(0, next - performance.now()))
    }
  }
  const rotating = rotate()
  return {
    deletionsBegun,
    stop: async () => {
      stopping.abort()
      await rotating
    },
  }
}

function takeOlderThan(keys: Dated[], millis: number): string | undefined {
  const [oldest] = keys
  if (oldest === undefined || performance.now() - oldest.at < millis) return undefined
  keys.shift()
  return oldest.keyId
}
