/**
 * Keys that are sealed at rest: JWEs that only a master key opens.
 *
 * The protected header says what was sealed and for which row, so that a sealed key moved to another row of the database does not open there.
 * Since the id of a web key is the thumbprint of its public key, a private key that opens for a web key belongs to it.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import type { KeyResealer } from '../domain/keys/sealed-keys.ts'
import type { KeyPairFacts } from '../domain/keys/web-key.ts'
import type { MasterKeys } from './master-keys.ts'
import { assertJweOpens, CannotOpen, masterKeyOf, openJwe, type ReadHeader, sealJwe } from './sealed-jwe.ts'

type SealedForWebKey = Pick<KeyPairFacts, 'keyId' | 'algorithm'> & { readonly kind?: 'web_key' }

/** What a sealed key belongs to: a web key, whose private key it is, a webhook or the instance. */
export type SealedFor =
  | SealedForWebKey
  | { readonly kind: 'webhook_secret'; readonly webhookId: string }
  | { readonly kind: 'integrity_key' }

/**
 * Seals and opens keys. Opening and checking throw {Error} if no configured master key opens the text, or it was sealed for something else. The
 * message names what it belongs to or the master key, and holds nothing of either.
 */
export interface KeySealer {
  /** A key as a compact JWE, sealed with the first master key. The caller wipes the bytes; a private key is in DER of PKCS #8. */
  seal(key: Uint8Array<ArrayBuffer>, owner: SealedFor): Promise<string>
  /** The private key that was sealed for this web key, to sign with. */
  open(sealed: string, owner: SealedForWebKey): Promise<KeyObject>
  /** Passes the key to `use`, and wipes it afterwards. */
  use<T>(sealed: string, owner: SealedFor, use: (key: Buffer<ArrayBuffer>) => T | Promise<T>): Promise<T>
  /** Checks that it can be opened. Only its content key is unwrapped, and the key itself stays encrypted. */
  assertOpens(sealed: string, owner: SealedFor): Promise<void>
}

export function createKeySealer(masterKeys: MasterKeys): KeySealer {
  const use: KeySealer['use'] = (sealed, owner, work) =>
    naming(owner, () =>
      openJwe(sealed, masterKeys, (key, header) => {
        assertSealedFor(owner, header)
        return work(key)
      }),
    )
  return {
    seal: (key, owner) => sealJwe(key, bindingOf(owner), masterKeys),
    open: (sealed, owner) => use(sealed, owner, (key) => createPrivateKey({ key, format: 'der', type: 'pkcs8' })),
    use,
    assertOpens: (sealed, owner) =>
      naming(owner, async () => assertSealedFor(owner, await assertJweOpens(sealed, masterKeys))),
  }
}

/** A resealer that opens with any of these master keys and seals with the first. The plaintext is never stored. */
export function createKeyResealer(masterKeys: MasterKeys): KeyResealer {
  const [first, ...others] = masterKeys
  const sealer = createKeySealer(masterKeys)
  return {
    masterKeyIds: [first.id, ...others.map(({ id }) => id)],
    masterKeyOf,
    // The whole of it is opened.
    assertOpens: (key) => sealer.use(key.sealed, key, () => {}),
    async reseal(key) {
      const sealed = await sealer.use(key.sealed, key, (bytes) => sealer.seal(bytes, key))
      // The old sealed text is about to be replaced, so the new one must open with the first master key alone.
      await createKeySealer([first]).use(sealed, key, () => {})
      return sealed
    },
  }
}

async function naming<T>(owner: SealedFor, open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (cause) {
    if (!(cause instanceof CannotOpen)) throw cause
    throw new Error(`${nameOf(owner)} cannot be opened: ${cause.message}`, { cause })
  }
}

function assertSealedFor(owner: SealedFor, header: ReadHeader): void {
  const isSame = Object.entries(bindingOf(owner)).every(([member, value]) => header[member] === value)
  if (!isSame) throw new CannotOpen('it was sealed for something else')
}

/** The members of the protected header that bind what is sealed. PKCS #8 rather than a JWK, because the error of a JSON parser may quote the text. */
function bindingOf(owner: SealedFor): Readonly<Record<string, string>> {
  switch (owner.kind) {
    case 'integrity_key':
      return { cty: 'integrity-key' }
    case 'webhook_secret':
      return { cty: 'webhook-secret', webhook_id: owner.webhookId }
    default:
      return { cty: 'pkcs8', key_id: owner.keyId, key_alg: owner.algorithm }
  }
}

function nameOf(owner: SealedFor): string {
  switch (owner.kind) {
    case 'integrity_key':
      return 'the integrity key of the instance'
    case 'webhook_secret':
      return `the signing secret of webhook ${owner.webhookId}`
    default:
      return `the private key of web key ${owner.keyId}`
  }
}
