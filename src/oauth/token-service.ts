/**
 * The OAuth endpoints of this replica: tokens and key set, always from the newest key ring, and discovery.
 *
 * A new key ring replaces tokens and key set at once, in one assignment. A request is answered by the ring that is the newest when
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
}

export class TokenService {
  /** Answers token requests. */
  readonly token: TokenHandler
  /** The same for every key ring. */
  readonly discovery: PublishedDocument
  readonly #options: EngineOptions
  #served: Served

  constructor(options: EngineOptions) {
    this.#options = options
    this.discovery = publishDocument(discoveryDocument(options.issuer))
    this.#served = this.#serve({ ring: [], signer: null })
    this.token = grantDirectly(() => this.#served.issuing, options)
  }

  /** Serves another key ring from now on. */
  switchTo(snapshot: KeySnapshot): void {
    this.#served = this.#serve(snapshot)
  }

  /** The key set that is published, and what issues tokens. */
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
    }
  }
}
