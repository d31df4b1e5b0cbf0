/**
 * The keys that the engine verifies a client assertion with: those of the user, or one that fits nobody.
 *
 * Without a key that could fit, the engine would answer sooner, and the time would tell who has keys. So there is always
 * one: the signature of a stranger, of a user without keys and of a wrong key are all verified, and all fail.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { Client } from 'oidc-provider'
import { isLive, type UserKey } from '../../domain/identities/credential.ts'
import type { PublicJwk } from '../../domain/keys/key-algorithm.ts'
import type { NamedUser } from './named-user.ts'

type VerificationKey = PublicJwk & { readonly kid?: string; readonly alg?: string }

/** The engine's key store of a client, which its published types leave out. */
interface EngineKeyStore {
  add(key: VerificationKey): void
  clear(): void
  selectForVerify(options: { readonly alg: string; readonly kid?: unknown }): VerificationKey[]
  /** When no key verifies an assertion, the engine refreshes a store that is not fresh, and tries once more. */
  fresh(): boolean
  refresh(): Promise<void>
}

/** Keys that nobody has the other half of, one of each kind. */
export type Decoys = readonly PublicJwk[]

/** Makes decoys for an engine. */
export function createDecoys(): Decoys {
  const curves = ['P-256', 'P-384', 'P-521'] as const
  return [
    // Bits that look like a modulus take as long to verify with as a modulus does, and no time to generate.
    { kty: 'RSA', n: randomModulus(2048).toString('base64url'), e: 'AQAB' },
    ...curves.map((namedCurve) => generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' })),
    generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }),
  ] as PublicJwk[]
}

/**
 * Gives a client those keys of its user that can be used now, and decoys for when none of them fits. Which of them were tried
 * becomes the user's proof, which is one only if the engine goes on.
 *
 * When none verifies the assertion, the user is read from the database and they are tried again.
 */
export function addAssertionKeys(
  client: Client,
  named: NamedUser,
  { decoys, now }: { readonly decoys: Decoys; readonly now: Date },
): void {
  const store = (client as unknown as { readonly asymmetricKeyStore: EngineKeyStore }).asymmetricKeyStore
  const ids = new WeakMap<VerificationKey, string>()
  const fill = (): void => {
    store.clear()
    for (const userKey of named.user?.keys ?? []) {
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
    named.proof = { kind: 'key', keyIds: fitting.map((key) => ids.get(key) ?? '') }
    return fitting.length > 0 ? fitting : decoys.filter((decoy) => fits(decoy, options.alg)).map((key) => ({ ...key }))
  }

  let isFresh = false
  store.fresh = () => isFresh
  // Also for a user who has been read: that the second try is left out would tell that the user was not in memory.
  store.refresh = async () => {
    isFresh = true
    await named.confirm()
    fill()
  }
}

/**
 * A key without `kid` can be named by its id. A new object each time, like a decoy: the engine is quicker with an object
 * that it has seen before.
 */
function toVerificationKey({ keyId, publicJwk }: UserKey): VerificationKey {
  const { alg, ...key } = publicJwk
  // There is one algorithm for Ed25519 keys, but it has two names, and either will do.
  return { ...key, kid: key.kid ?? keyId, ...(alg === undefined || key.kty === 'OKP' ? {} : { alg }) }
}

function fits(decoy: PublicJwk, alg: string): boolean {
  switch (decoy.kty) {
    case 'RSA':
      return alg.startsWith('RS') || alg.startsWith('PS')
    case 'EC':
      return decoy.crv === { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }[alg]
    case 'OKP':
      return alg.startsWith('Ed')
  }
}

function randomModulus(bits: number): Buffer {
  const bytes = randomBytes(bits / 8)
  bytes.writeUInt8(bytes.readUInt8(0) | 0x80, 0)
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) | 1, bytes.length - 1)
  return bytes
}
