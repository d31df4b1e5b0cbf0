/**
 * Verifies every token as applications do: with jose, and with a key set that is kept as long as it says.
 *
 * There are three verifiers, each with a replica that it prefers for key sets. A verifier never fetches a key set because
 * of a token: if its copy is not older than its max-age, that copy must do.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose'
import { NoAnswer, type Send } from './http-client.ts'
import type { Ledger } from './ledger.ts'
import { MAX_AGE_SECONDS, type Replica, type Replicas, TOKEN_LIFETIME_SECONDS } from './replicas.ts'

const KEY_SET_PATH = '/.well-known/openid-configuration/jwks'
/** How far the dates of a token may be from true time: they are whole seconds. */
const DATE_TOLERANCE_SECONDS = 2
/** One token in so many is verified again shortly before it expires. */
const AGAIN_EVERY = 10
const BEFORE_EXPIRY_MILLIS = 200

interface Copy {
  readonly find: ReturnType<typeof createLocalJWKSet>
  /** When it was asked for: what it says is not older than that. */
  readonly at: number
}

export class Verifier {
  readonly #replicas: Replicas
  readonly #send: Send
  readonly #ledger: Ledger
  readonly #copies: (Promise<Copy> | undefined)[]
  readonly #pending = new Set<Promise<void>>()
  #tokens = 0
  /** Verifications that succeeded. */
  verifications = 0
  /** Verifications that were not made, because the token or the key set came when the token had expired: this process waited for its turn. */
  late = 0
  /** Keys whose tokens need not verify, because they are not trusted any more. */
  readonly revoked = new Set<string>()

  constructor({ replicas, send, ledger }: { replicas: Replicas; send: Send; ledger: Ledger }) {
    this.#replicas = replicas
    this.#send = send
    this.#ledger = ledger
    this.#copies = replicas.all.map(() => undefined)
  }

  /** Verifies a token that has just come and was asked for at `askedAt`. What is wrong with it is noted in the ledger. */
  verify(token: string, replica: Replica, askedAt: number): void {
    this.#tokens += 1
    const again = this.#tokens % AGAIN_EVERY === 0
    const verification = this.#verifyEverywhere(token, replica, { again, askedAt }).finally(() =>
      this.#pending.delete(verification),
    )
    this.#pending.add(verification)
  }

  /** Waits until all tokens so far are verified. */
  async drain(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending)
  }

  async #verifyEverywhere(
    token: string,
    replica: Replica,
    { again, askedAt }: { again: boolean; askedAt: number },
  ): Promise<void> {
    const cameAt = Date.now()
    const { iat = 0, exp = 0 } = decodeJwt(token)
    const isDated = iat > askedAt / 1000 - DATE_TOLERANCE_SECONDS && iat < cameAt / 1000 + DATE_TOLERANCE_SECONDS
    if (!isDated || exp - iat !== TOKEN_LIFETIME_SECONDS) {
      const when = `asked for at ${askedAt / 1000}, at ${cameAt / 1000}`
      this.#ledger.wrong(`a token of replica ${replica.name}, ${when}, says ${iat} to ${exp}`)
    }
    await this.#verifyNow(token, replica, exp)
    if (!again) return
    await delay(Math.max(0, exp * 1000 - BEFORE_EXPIRY_MILLIS - Date.now()))
    await this.#verifyNow(token, replica, exp)
  }

  async #verifyNow(token: string, replica: Replica, exp: number): Promise<void> {
    await Promise.all(
      this.#copies.map(async (_, index) => {
        const copy = await this.#freshCopy(index)
        const currentDate = new Date()
        // Its key may have been deleted by then, as it should.
        if (currentDate.getTime() >= exp * 1000) {
          this.late += 1
          return
        }
        try {
          await jwtVerify(token, copy.find, { issuer: this.#replicas.issuer, typ: 'at+jwt', currentDate })
          this.verifications += 1
        } catch (error) {
          const { kid } = decodeProtectedHeader(token)
          if (kid !== undefined && this.revoked.has(kid)) return
          const age = ((performance.now() - copy.at) / 1000).toFixed(2)
          const how = `with a key set ${age} s old of replica ${this.#replicas.all[index]?.name}`
          this.#ledger.wrong(`a token of replica ${replica.name} with key ${kid} does not verify ${how}: ${error}`)
        }
      }),
    )
  }

  async #freshCopy(index: number): Promise<Copy> {
    for (;;) {
      const copying = this.#copies[index]
      const copy = await copying
      if (copy !== undefined && performance.now() - copy.at < MAX_AGE_SECONDS * 1000) return copy
      // Somebody else may have begun to fetch one in the meantime.
      if (this.#copies[index] === copying) this.#copies[index] = this.#fetchCopy(index)
    }
  }

  /** From the preferred replica, or the next one that has one. */
  async #fetchCopy(preferred: number): Promise<Copy> {
    const { all } = this.#replicas
    for (let turn = preferred; ; turn += 1) {
      const replica = all[turn % all.length]
      const copy = replica === undefined ? undefined : await this.#ask(replica)
      if (copy !== undefined) return copy
      await delay(10)
    }
  }

  async #ask(replica: Replica): Promise<Copy | undefined> {
    const at = performance.now()
    try {
      const { status, headers, body } = await this.#send(replica.url + KEY_SET_PATH)
      if (status === 503) return undefined
      if (status !== 200 || !headers['cache-control']?.includes(`max-age=${MAX_AGE_SECONDS},`)) {
        this.#ledger.wrong(`the key set of replica ${replica.name}: ${status} ${headers['cache-control']}`)
        return undefined
      }
      return { find: createLocalJWKSet(JSON.parse(body) as JSONWebKeySet), at }
    } catch (error) {
      if (error instanceof NoAnswer) return undefined
      throw error
    }
  }
}

/** The ids of the keys that a replica publishes, sorted. @throws {Error} if it does not. */
export async function publishedKeyIds(send: Send, replica: Replica): Promise<string[]> {
  const { status, body } = await send(replica.url + KEY_SET_PATH)
  if (status !== 200) throw new Error(`the key set of replica ${replica.name}: ${status}`)
  return (JSON.parse(body) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid).sort()
}
