/**
 * The key ring that this replica serves from memory, with the one private key that is open.
 *
 * Who wants to know of a new ring subscribes; `replica.ts` decides when there is one.
 */
import { activeKey, type KeyRing } from '../../domain/keys/key-ring.ts'
import type { InstanceState, Log, Signer, SignerFactory } from '../../domain/ports.ts'

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

  constructor(signers: SignerFactory, log: Log) {
    this.#signers = signers
    this.#log = log
  }

  get current(): KeySnapshot {
    return this.#snapshot
  }

  /** Calls `listener` now and with each snapshot that differs, until the returned function is called. */
  subscribe(listener: (snapshot: KeySnapshot) => void): () => void {
    this.#listeners.add(listener)
    listener(this.#snapshot)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Makes the snapshot of a state, opening the active key if it is another one than before.
   *
   * If the key cannot be opened, the snapshot has no signer: the key set stays published and no token is signed with a
   * key that is not the active one.
   */
  async prepare(state: InstanceState): Promise<KeySnapshot> {
    return { ring: state.ring, signer: await this.#signerFor(state) }
  }

  /** Takes over a prepared snapshot. What a listener throws passes through, and the snapshot before stays. */
  publish(snapshot: KeySnapshot): void {
    if (isSame(snapshot, this.#snapshot)) return
    // Taken over only when everybody has: if one fails, all are told again the next time.
    for (const listener of this.#listeners) listener(snapshot)
    this.#snapshot = snapshot
  }

  async #signerFor(state: InstanceState): Promise<Signer | null> {
    const key = activeKey(state.ring)
    if (key === undefined || state.sealedActiveKey === null) return null
    const open = this.#snapshot.signer
    if (open !== null && open.key.keyId === key.keyId) return open
    try {
      return await this.#signers.open(key, state.sealedActiveKey)
    } catch (error) {
      this.#log.error({ keyId: key.keyId, err: error }, 'the active web key cannot be opened: no tokens are issued')
      return null
    }
  }
}

function isSame(a: KeySnapshot, b: KeySnapshot): boolean {
  return a.signer === b.signer && a.ring.length === b.ring.length && JSON.stringify(a.ring) === JSON.stringify(b.ring)
}
