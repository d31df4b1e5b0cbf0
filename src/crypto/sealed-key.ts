/**
 * Sealed private keys: JWEs that only a master key opens.
 *
 * The protected header binds the web key's id and algorithm, so that a sealed key moved to another row of the database does
 * not open there. Since that id is the thumbprint of the public key, a private key that opens for a web key belongs to it.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import type { KeyPairFacts } from '../domain/keys/web-key.ts'
import type { MasterKeys } from './master-keys.ts'
import { assertJweOpens, CannotOpen, openJwe, type ReadHeader, sealJwe } from './sealed-jwe.ts'

/** The web key that a sealed private key belongs to. */
type SealedFor = Pick<KeyPairFacts, 'keyId' | 'algorithm'>

/**
 * Seals and opens private keys. Opening and checking throw {Error} if no configured master key opens the text, or it was
 * sealed for another key id or algorithm. The message names the web key or the master key, and holds nothing of either.
 */
export interface KeySealer {
  /** The private key, in DER of PKCS #8, as a compact JWE, sealed with the first master key. The caller wipes the bytes. */
  seal(pkcs8: Uint8Array<ArrayBuffer>, owner: SealedFor): Promise<string>
  /** The private key that was sealed for this web key, to sign with. */
  open(sealed: string, owner: SealedFor): Promise<KeyObject>
  /** Passes the private key in DER of PKCS #8 to `use`, and wipes it afterwards. */
  withPrivateKey<T>(sealed: string, owner: SealedFor, use: (pkcs8: Buffer<ArrayBuffer>) => T | Promise<T>): Promise<T>
  /** Checks that it can be opened. Only its content key is unwrapped, and the private key stays encrypted. */
  assertOpens(sealed: string, owner: SealedFor): Promise<void>
}

// PKCS #8 rather than a JWK, because the error of a JSON parser may quote the text.
const CTY = 'pkcs8'

export function createKeySealer(masterKeys: MasterKeys): KeySealer {
  const withPrivateKey: KeySealer['withPrivateKey'] = (sealed, owner, use) =>
    naming(owner, () =>
      openJwe(sealed, masterKeys, (pkcs8, header) => {
        assertSealedFor(owner, header)
        return use(pkcs8)
      }),
    )
  return {
    seal: (pkcs8, { keyId, algorithm }) => sealJwe(pkcs8, { cty: CTY, key_id: keyId, key_alg: algorithm }, masterKeys),
    withPrivateKey,
    open: (sealed, owner) =>
      withPrivateKey(sealed, owner, (pkcs8) => createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })),
    assertOpens: (sealed, owner) =>
      naming(owner, async () => assertSealedFor(owner, await assertJweOpens(sealed, masterKeys))),
  }
}

async function naming<T>({ keyId }: SealedFor, open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (cause) {
    if (!(cause instanceof CannotOpen)) throw cause
    throw new Error(`the private key of web key ${keyId} cannot be opened: ${cause.message}`, { cause })
  }
}

function assertSealedFor({ keyId, algorithm }: SealedFor, { cty, key_id, key_alg }: ReadHeader): void {
  if (cty === CTY && key_id === keyId && key_alg === algorithm) return
  throw new Error(`the private key stored with web key ${keyId} (${algorithm}) was sealed for another web key`)
}
