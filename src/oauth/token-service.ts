/**
 * What the OAuth endpoints of this replica serve: tokens and the key set of the newest key ring, and the discovery document.
 *
 * A new key ring replaces the provider, the signer and the key set in one assignment.
 */
import type { KeySnapshot } from '../app/keys/live-key-ring.ts'
import type { KeyRing } from '../domain/keys/key-ring.ts'
import type { Signer } from '../domain/ports/keys.ts'
import { discoveryDocument, protectedResourceDocument } from './documents/discovery.ts'
import { keySetOf } from './documents/jwks.ts'
import { type PublishedDocument, publishDocument } from './documents/published-document.ts'
import { temporarilyUnavailable } from './errors.ts'
import { createProvider, type ProviderOptions } from './provider.ts'
import { createFastPath, createTokenIssuer, type FastPath } from './token/fast-path.ts'
import type { Issuing } from './token/token-endpoint.ts'

interface Served {
  readonly ring: KeyRing
  /** Null while no key can sign. */
  readonly issuing: Issuing | null
  readonly keySet: PublishedDocument
}

export class TokenService {
  readonly fastPath: FastPath
  /** Both are the same for every key ring. */
  readonly discovery: PublishedDocument
  readonly protectedResource: PublishedDocument
  readonly #options: ProviderOptions
  #current: Served

  constructor(options: ProviderOptions) {
    this.#options = options
    this.discovery = publishDocument(discoveryDocument(options.issuer, options))
    this.protectedResource = publishDocument(protectedResourceDocument(options.issuer, options))
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
    if (signer === null) return { ring, issuing: null, keySet }
    const provider = createProvider(ring, this.#whilePublished(signer), this.#options).callback()
    return { ring, issuing: { provider, issue: createTokenIssuer(signer, this.#options) }, keySet }
  }

  /**
   * Signs with a key until it leaves the key ring. A provider may wait for a form for as long as a request may take, and its key may be
   * revoked meanwhile. One that was only replaced is published for longer than that.
   */
  #whilePublished(signer: Signer): Signer {
    const { key } = signer
    return {
      key,
      sign: async (data) => {
        if (this.#current.ring.some(({ keyId }) => keyId === key.keyId)) return signer.sign(data)
        throw temporarilyUnavailable('the key that was to sign has been revoked: send the request again')
      },
    }
  }
}
