/**
 * The OAuth endpoints of this replica: tokens, key set and discovery, always from the newest key ring.
 *
 * A new key ring replaces all of them at once, in one assignment. A request is answered by the ring that is the newest when
 * all of a small form is here, or when the engine begins with anything else.
 */
import type { KeySnapshot } from '../app/live-key-ring.ts'
import { createTokenWriter } from './access-token.ts'
import { grantDirectly, type Issuing, type TokenHandler } from './direct-grant.ts'
import { discoveryDocument } from './discovery.ts'
import { createEngine, type EngineOptions } from './engine.ts'
import { keySetOf } from './jwks.ts'
import { type PublishedDocument, publishDocument } from './published-document.ts'

interface Served {
  /** Null while no key can sign. */
  readonly issuing: Issuing | null
  readonly keySet: PublishedDocument
  readonly discovery: PublishedDocument
}

export class TokenService {
  /** Answers token requests. */
  readonly token: TokenHandler
  readonly #options: EngineOptions
  #served: Served

  constructor(options: EngineOptions) {
    this.#options = options
    this.#served = this.#serve({ ring: [], signer: null })
    this.token = grantDirectly(() => this.#served.issuing, options)
  }

  /** Serves another key ring from now on. */
  switchTo(snapshot: KeySnapshot): void {
    this.#served = this.#serve(snapshot)
  }

  /** The documents that are published, and what issues tokens. */
  get current(): Served {
    return this.#served
  }

  #serve({ ring, signer }: KeySnapshot): Served {
    return {
      issuing:
        signer === null
          ? null
          : { engine: createEngine(ring, signer, this.#options).callback(), write: createTokenWriter(signer) },
      keySet: publishDocument(keySetOf(ring)),
      discovery: publishDocument(discoveryDocument(this.#options.issuer, ring)),
    }
  }
}
