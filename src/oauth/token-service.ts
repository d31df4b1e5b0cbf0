/**
 * The OAuth endpoints of this replica: tokens, key set and discovery, always from the newest key ring.
 *
 * A new key ring replaces all of them at once, in one assignment. Requests in flight finish with what they began with.
 */
import type { KeySnapshot } from '../app/live-key-ring.ts'
import type { KeyRing } from '../domain/key-ring.ts'
import type { Signer } from '../domain/ports.ts'
import { type DirectGrantOptions, grantDirectly, type TokenHandler } from './direct-grant.ts'
import { discoveryDocument } from './discovery.ts'
import { createEngine } from './engine.ts'
import { keySetOf } from './jwks.ts'
import { type PublishedDocument, publishDocument } from './published-document.ts'

interface Served {
  /** Null while no key can sign. */
  readonly tokens: TokenHandler | null
  readonly keySet: PublishedDocument
  readonly discovery: PublishedDocument
}

export class TokenService {
  readonly #options: DirectGrantOptions
  #served: Served

  constructor(options: DirectGrantOptions) {
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
      tokens: signer === null ? null : this.#tokens(ring, signer),
      keySet: publishDocument(keySetOf(ring)),
      discovery: publishDocument(discoveryDocument(this.#options.issuer, ring)),
    }
  }

  #tokens(ring: KeyRing, signer: Signer): TokenHandler {
    return grantDirectly(createEngine(ring, signer, this.#options).callback(), signer, this.#options)
  }
}
