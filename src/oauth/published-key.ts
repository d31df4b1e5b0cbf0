/**
 * A web key as a key of oidc-provider, which publishes it and signs with it if it is active.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { ExternalSigningKey } from 'oidc-provider'
import type { WebKey } from '../domain/keys/web-key.ts'
import type { Signer } from '../domain/ports/keys.ts'

export class PublishedKey extends ExternalSigningKey {
  readonly #key: WebKey
  readonly #publicKey: KeyObject
  readonly #signer: Signer | null

  /** @param signer Of the active key; null for every other key. */
  constructor(key: WebKey, signer: Signer | null) {
    super()
    this.#key = key
    this.#publicKey = createPublicKey({ key: { ...key.publicJwk }, format: 'jwk' })
    this.#signer = signer
  }

  override get kid(): string {
    return this.#key.keyId
  }

  override get alg(): string {
    return this.#key.algorithm
  }

  override keyObject(): KeyObject {
    return this.#publicKey
  }

  override async sign(data: Uint8Array): Promise<Uint8Array> {
    if (this.#signer === null) throw new Error(`web key ${this.kid} is not active and does not sign`)
    return this.#signer.sign(data)
  }
}
