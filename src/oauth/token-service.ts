/**
 * What the OAuth endpoints of this replica serve: tokens and the key set of the newest key ring, and the discovery document.
 *
 * A new key ring replaces the provider, the signer and the key set in one assignment.
 */
import type { KeySnapshot } from '../app/keys/live-key-ring.ts'
import { discoveryDocument } from './documents/discovery.ts'
import { keySetOf } from './documents/jwks.ts'
import { type PublishedDocument, publishDocument } from './documents/published-document.ts'
import { createProvider, type ProviderOptions } from './provider.ts'
import { createFastPath, createTokenIssuer, type FastPath } from './token/fast-path.ts'
import type { Issuing } from './token/token-endpoint.ts'

interface Served {
  /** Null while no key can sign. */
  readonly issuing: Issuing | null
  readonly keySet: PublishedDocument
}

export class TokenService {
  readonly fastPath: FastPath
  /** The same for every key ring. */
  readonly discovery: PublishedDocument
  readonly #options: ProviderOptions
  #current: Served

  constructor(options: ProviderOptions) {
    this.#options = options
    this.discovery = publishDocument(discoveryDocument(options.issuer, options))
    this.#current = this.#serve({ ring: [], signer: null })
    this.fastPath = createFastPath(options)
  }

  /** Serves another key ring from now on. */
  switchTo(snapshot: KeySnapshot): void {
    this.#current = this.#serve(snapshot)
  }

  /** Of the newest key ring. */
  get current(): Served {
    return this.#current
  }

  #serve({ ring, signer }: KeySnapshot): Served {
    const keySet = publishDocument(keySetOf(ring))
    if (signer === null) return { issuing: null, keySet }
    const provider = createProvider(ring, signer, this.#options).callback()
    return { issuing: { provider, issue: createTokenIssuer(signer, this.#options) }, keySet }
  }
}
