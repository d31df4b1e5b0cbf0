/**
 * Calls the API as the first administrator, over plain JSON, and tells apart what the caller of a broken service must:
 * done, refused, or not known.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { NoAnswer, type Send } from './http-client.ts'
import type { Ledger } from './ledger.ts'
import { MAX_AGE_SECONDS, type Replica, type Replicas, TOKEN_LIFETIME_SECONDS } from './replicas.ts'
import { askForToken } from './token-request.ts'

const SCOPE = 'openid urn:service:iam:org:project:id:service:aud'

/** Reasons of changes that were made, or may have been. */
const MAY_BE_STORED = ['CHANGE_NOT_IN_FORCE', 'CHANGE_OUTCOME_UNKNOWN']

/** When no replica could do it. */
const PAUSE_MILLIS = 50

/** A second less than it lives, because its dates are whole seconds. */
const TOKEN_LIFE_MILLIS = (TOKEN_LIFETIME_SECONDS - 1) * 1000

interface AccessToken {
  readonly text: string
  /** When it was asked for: it was issued no sooner. */
  readonly at: number
}

/** What became of a call. `certain`: it is known that nothing happened. */
export type Outcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }
  | { readonly kind: 'unavailable'; readonly certain: boolean }

/** What became of a call that was repeated until it was answered, and how many times it may have been done before. */
export type Settled<T> = Exclude<Outcome<T>, { kind: 'unavailable' }> & { readonly unanswered: number }

/** What an administrator needs. */
export interface AdministratorOptions {
  readonly replicas: Replicas
  /** Those that changes go through. */
  readonly administered: readonly Replica[]
  readonly send: Send
  readonly ledger: Ledger
}

export class Administrator {
  readonly #replicas: Replicas
  readonly #administered: readonly Replica[]
  readonly #send: Send
  readonly #ledger: Ledger
  #token: AccessToken | undefined

  constructor({ replicas, administered, send, ledger }: AdministratorOptions) {
    this.#replicas = replicas
    this.#administered = administered
    this.#send = send
    this.#ledger = ledger
  }

  /** Calls a method, for example `iam.webkey.v2beta.WebKeyService/ListWebKeys`, on one replica, once. */
  async call<T>(replica: Replica, method: string, request: object = {}): Promise<Outcome<T>> {
    const token = await this.#accessToken()
    if (token === undefined) return { kind: 'unavailable', certain: true }
    const headers = { authorization: `Bearer ${token.text}`, 'content-type': 'application/json' }
    try {
      const url = `${replica.url}/${method}`
      const { status, body } = await this.#send(url, { method: 'POST', headers, body: JSON.stringify(request) })
      if (status === 200) return { kind: 'done', value: JSON.parse(body) as T }
      // What a 503 says of the change is not looked at: it may come from a replica that stops.
      if (status === 503 || MAY_BE_STORED.some((reason) => body.includes(reason)))
        return { kind: 'unavailable', certain: false }
      const { code = 'none', message = body } = JSON.parse(body) as { code?: string; message?: string }
      // A call that waits for the database may outlive its token.
      if (code === 'unauthenticated' && performance.now() > token.at + TOKEN_LIFE_MILLIS)
        return { kind: 'unavailable', certain: true }
      if (['none', 'internal', 'unknown', 'unauthenticated', 'permission_denied'].includes(code)) {
        this.#ledger.wrong(`${method} on ${replica.name}: ${status} ${code} ${message}`)
      }
      return { kind: 'refused', code, message }
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error
      if (error.disconnection === 'silent') this.#ledger.wrong(`${method} on ${replica.name} was not answered`)
      return { kind: 'unavailable', certain: error.disconnection === 'refused' }
    }
  }

  /** Calls a method on one replica after the other until one answers. */
  async insist<T>(method: string, request: object): Promise<Settled<T>> {
    for (let unanswered = 0; ; ) {
      for (const replica of shuffled(this.#administered)) {
        const outcome = await this.call<T>(replica, method, request)
        if (outcome.kind !== 'unavailable') return { ...outcome, unanswered }
        if (!outcome.certain) unanswered += 1
      }
      await delay(PAUSE_MILLIS)
    }
  }

  /** Like `insist`, for calls that must be granted. @throws {Error} if it is refused. */
  async must<T>(method: string, request: object = {}): Promise<T> {
    const outcome = await this.insist<T>(method, request)
    if (outcome.kind === 'refused') throw new Error(`${method} was refused: ${outcome.code} ${outcome.message}`)
    return outcome.value
  }

  async #accessToken(): Promise<AccessToken | undefined> {
    if (this.#token !== undefined && performance.now() - this.#token.at < MAX_AGE_SECONDS * 1000) return this.#token
    for (const replica of shuffled(this.#replicas.all)) {
      const at = performance.now()
      const result = await askForToken(this.#send, replica, { ...this.#replicas.admin, scope: SCOPE })
      if (result.kind !== 'issued') continue
      this.#token = { text: result.token, at }
      return this.#token
    }
    return undefined
  }
}

/** One of them, by chance. */
export function anyOf<T>(things: readonly T[]): T {
  const thing = things[Math.floor(Math.random() * things.length)]
  if (thing === undefined) throw new Error('there is nothing to choose from')
  return thing
}

function shuffled<T>(things: readonly T[]): T[] {
  return things
    .map((thing) => ({ thing, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ thing }) => thing)
}
