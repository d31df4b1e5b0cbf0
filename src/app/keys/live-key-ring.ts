/**
 * The key ring that this replica serves from memory, with the signer of the active key.
 *
 * `replica.ts` decides when there is a new ring, and listeners subscribe to it.
 */
import { activeKey, type KeyRing } from '../../domain/keys/key-ring.ts'
import type { ActiveWebKey } from '../../domain/keys/web-key.ts'
import type { InstanceState } from '../../domain/ports/instance.ts'
import type { Signer, SignerFactory } from '../../domain/ports/keys.ts'
import type { Log } from '../../domain/ports/runtime.ts'

/** The key ring at one moment. Never changes; the next one replaces it. */
export interface KeySnapshot {
  readonly ring: KeyRing
  /** Signs with the active key; null if no key is active or the active one cannot be opened. */
  readonly signer: Signer | null
}

export class LiveKeyRing {
  readonly #signers: SignerFactory
  readonly #log: Log
  readonly #listeners = new Set<(snapshot: KeySnapshot) => void>()
  #snapshot: KeySnapshot = { ring: [], signer: null }
  /** Shared by snapshots that are prepared at the same time, so that a private key is opened once. */
  #opened: { readonly keyId: string; readonly signer: Promise<Signer | null> } | undefined

  constructor(signers: SignerFactory, log: Log) {
    this.#signers = signers
    this.#log = log
  }

  get current(): KeySnapshot {
    return this.#snapshot
  }

  /** Calls `listener` now and with each snapshot that differs. */
  subscribe(listener: (snapshot: KeySnapshot) => void): void {
    this.#listeners.add(listener)
    listener(this.#snapshot)
  }

  /**
   * Makes the snapshot of a state, opening the active key if it is another one than before.
   *
   * If the key cannot be opened, the snapshot has no signer: the key set stays published and no token is signed with a
   * key that is not the active one.
   */
  async prepare({ ring, sealedActiveKey }: Pick<InstanceState, 'ring' | 'sealedActiveKey'>): Promise<KeySnapshot> {
    const key = activeKey(ring)
    if (key === undefined || sealedActiveKey === null) return { ring, signer: null }
    if (this.#opened?.keyId !== key.keyId) this.#opened = { keyId: key.keyId, signer: this.#open(key, sealedActiveKey) }
    const opened = this.#opened
    const signer = await opened.signer
    // It is tried again.
    if (signer === null && this.#opened === opened) this.#opened = undefined
    return { ring, signer }
  }

  /**
   * Makes the snapshot of a ring that this process has changed, with the signer that is open or one that it opens.
   * @param sealed Sealed private keys by key id.
   * @returns Undefined if the active key is neither open nor among the sealed ones.
   */
  async prepareOwn(ring: KeyRing, sealed: ReadonlyMap<string, string>): Promise<KeySnapshot | undefined> {
    const keyId = activeKey(ring)?.keyId
    const { signer } = this.#snapshot
    if (keyId === signer?.key.keyId) return { ring, signer }
    const sealedActiveKey = sealed.get(keyId ?? '')
    return sealedActiveKey === undefined ? undefined : this.prepare({ ring, sealedActiveKey })
  }

  /** Takes over a prepared snapshot. What a listener throws passes through, and the snapshot before stays. */
  publish(snapshot: KeySnapshot): void {
    if (isSame(snapshot, this.#snapshot)) return
    // Stored last, so that after a failure the next call notifies every listener again.
    for (const listener of this.#listeners) listener(snapshot)
    this.#snapshot = snapshot
  }

  async #open(key: ActiveWebKey, sealedPrivateKey: string): Promise<Signer | null> {
    try {
      return await this.#signers.open(key, sealedPrivateKey)
    } catch (error) {
      this.#log.error({ keyId: key.keyId, err: error }, 'the active web key cannot be opened: no tokens are issued')
      return null
    }
  }
}

function isSame(a: KeySnapshot, b: KeySnapshot): boolean {
  return a.signer === b.signer && a.ring.length === b.ring.length && JSON.stringify(a.ring) === JSON.stringify(b.ring)
}
