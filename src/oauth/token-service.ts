/**
 * The OAuth endpoints of this replica: tokens, key set and discovery, always from the newest key ring.
 *
 * A new key ring replaces all of them at once, in one assignment. Requests in flight finish with what they began with.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { KeySnapshot } from '../app/live-key-ring.ts'
import { discoveryDocument } from './discovery.ts'
import { createEngine, type EngineOptions } from './engine.ts'
import { keySetOf } from './jwks.ts'
import { type PublishedDocument, publishDocument } from './published-document.ts'

/** Answers token requests; null while no key can sign. */
export type TokenHandler = (req: IncomingMessage, res: ServerResponse) => Promise<void>

interface Served {
  readonly tokens: TokenHandler | null
  readonly keySet: PublishedDocument
  readonly discovery: PublishedDocument
}

export class TokenService {
  readonly #options: EngineOptions
  #served: Served

  constructor(options: EngineOptions) {
    this.#options = options
    this.#served = this.#serve({ ring: [], signer: null })
  }

  /** Serves another key ring from now on. */
  switchTo(snapshot: KeySnapshot): void {
    this.#served = this.#serve(snapshot)
  }

  get current(): Served {
    return this.#served
  }

  #serve({ ring, signer }: KeySnapshot): Served {
    return {
      tokens: signer === null ? null : createEngine(ring, signer, this.#options).callback(),
      keySet: publishDocument(keySetOf(ring)),
      discovery: publishDocument(discoveryDocument(this.#options.issuer, ring)),
    }
  }
}
