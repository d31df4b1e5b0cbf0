/**
 * The OAuth endpoints of this replica: tokens and key set, always from the newest key ring, and discovery.
 *
 * A new key ring replaces tokens and key set at once, in one assignment. A request is answered by the ring that is the newest when
 * all of a small form is here, or when the engine begins with anything else.
 */
import type { KeySnapshot } from '../app/keys/live-key-ring.ts'
import { discoveryDocument } from './documents/discovery.ts'
import { keySetOf } from './documents/jwks.ts'
import { type PublishedDocument, publishDocument } from './documents/published-document.ts'
import { createProvider, type ProviderOptions } from './provider.ts'
import { createAccessTokenSigner } from './token/access-token-signer.ts'
import { createFastPath, type Issuing, type TokenHandler } from './token/fast-path.ts'

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
  readonly #options: ProviderOptions
  #served: Served

  constructor(options: ProviderOptions) {
    this.#options = options
    this.discovery = publishDocument(discoveryDocument(options.issuer))
    this.#served = this.#serve({ ring: [], signer: null })
    this.token = createFastPath(() => this.#served.issuing, options)
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
          : { engine: createProvider(ring, signer, this.#options).callback(), write: createAccessTokenSigner(signer) },
      keySet: publishDocument(keySetOf(ring)),
    }
  }
}
