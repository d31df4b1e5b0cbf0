/**
 * The keys with which oidc-provider verifies a client assertion: those of the user, or decoys.
 *
 * Without a fitting key oidc-provider would answer sooner, and the time would reveal which users have keys. So a signature is always
 * verified, also for an unknown user and for a user without keys, and fails with a decoy.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { Client } from 'oidc-provider'
import { isLive, type UserKey } from '../../domain/identities/credential.ts'
import { fitsAlgorithm } from '../../domain/keys/assertion-algorithm.ts'
import type { PublicJwk } from '../../domain/keys/key-algorithm.ts'
import type { ClaimedUser } from './claimed-user.ts'

type VerificationKey = PublicJwk & { readonly kid?: string; readonly alg?: string }

/** The key store of an oidc-provider client, which the published types omit. */
interface ProviderKeyStore {
  add(key: VerificationKey): void
  clear(): void
  selectForVerify(options: { readonly alg: string; readonly kid?: unknown }): VerificationKey[]
  /** When no key verifies an assertion, oidc-provider refreshes a store that is not fresh and tries once more. */
  fresh(): boolean
  refresh(): Promise<void>
}

/** Public keys without private keys, one of each kind. */
export type Decoys = readonly PublicJwk[]

/** Makes the decoys of one provider. */
export function createDecoys(): Decoys {
  const curves = ['P-256', 'P-384', 'P-521'] as const
  return [
    // Verification takes as long with random bits as with a real modulus, which is slow to generate.
    { kty: 'RSA', n: randomModulus(2048).toString('base64url'), e: 'AQAB' },
    ...curves.map((namedCurve) => generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' })),
    generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }),
  ] as PublicJwk[]
}

/**
 * Gives a client the live keys of its user, and decoys for when none of them fits. The keys that oidc-provider tries become the
 * user's proof, which is valid only if the verification succeeds.
 *
 * When no key verifies the assertion, the user is read from the database and its keys are tried again.
 */
export function addAssertionKeys(
  client: Client,
  claimed: ClaimedUser,
  { decoys, now }: { readonly decoys: Decoys; readonly now: Date },
): void {
  const store = (client as unknown as { readonly asymmetricKeyStore: ProviderKeyStore }).asymmetricKeyStore
  const ids = new WeakMap<VerificationKey, string>()
  const fill = (): void => {
    store.clear()
    for (const userKey of claimed.user?.keys ?? []) {
      if (!isLive(userKey, now)) continue
      const key = toVerificationKey(userKey)
      ids.set(key, userKey.keyId)
      store.add(key)
    }
  }
  fill()

  const select = store.selectForVerify.bind(store)
  store.selectForVerify = (options) => {
    const fitting = select(options)
    claimed.proof = { kind: 'key', keyIds: fitting.map((key) => ids.get(key) ?? '') }
    return fitting.length > 0
      ? fitting
      : decoys.filter((decoy) => fitsAlgorithm(decoy, options.alg)).map((key) => ({ ...key }))
  }

  let isFresh = false
  store.fresh = () => isFresh
  // Also for a user who has been read: skipping the second try would reveal that the user was not in memory.
  store.refresh = async () => {
    isFresh = true
    await claimed.confirm()
    fill()
  }
}

/**
 * A key without `kid` gets its id as one. A new object each time, like a decoy: oidc-provider is faster with an object that it has
 * seen before.
 */
function toVerificationKey({ keyId, publicJwk }: UserKey): VerificationKey {
  const { alg, ...key } = publicJwk
  // The algorithm of Ed25519 keys has two names, and both are accepted.
  return { ...key, kid: key.kid ?? keyId, ...(alg === undefined || key.kty === 'OKP' ? {} : { alg }) }
}

function randomModulus(bits: number): Buffer {
  const bytes = randomBytes(bits / 8)
  bytes.writeUInt8(bytes.readUInt8(0) | 0x80, 0)
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) | 1, bytes.length - 1)
  return bytes
}
