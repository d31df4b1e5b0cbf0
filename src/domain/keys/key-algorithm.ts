/**
 * Every fact that signing with a web key needs about an algorithm, in one table. Signing, verifying and storing switch on these facts, and
 * not on the name.
 */

/** The public half of a key pair as a JWK (RFC 7517), reduced to the members that its thumbprint covers. */
export type PublicJwk =
  | { readonly kty: 'RSA'; readonly n: string; readonly e: string }
  | { readonly kty: 'EC'; readonly crv: EcCurve; readonly x: string; readonly y: string }
  | { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string }

/** Length of an RSA modulus in bits (Spec §2.3). */
export const RSA_BITS = [2048, 3072, 4096] as const
export type RsaBits = (typeof RSA_BITS)[number]

/** Hash function of a signature, as the platform names it. */
export type Hash = 'sha256' | 'sha384' | 'sha512'

/** Curve of an ECDSA key, as JOSE names it. */
export type EcCurve = 'P-256' | 'P-384' | 'P-521'

/** The kind of a key: its type, and what is chosen within it. The algorithm and the length follow from it (Spec §2.3). */
export type WebKeyConfig =
  | { readonly kind: 'rsa'; readonly bits: RsaBits; readonly hasher: Hash }
  | { readonly kind: 'ecdsa'; readonly curve: EcCurve }
  | { readonly kind: 'ed25519' }

export type AlgorithmFacts = {
  /** Whether a signature takes tens of microseconds, and not hundreds or more. */
  readonly quick: boolean
} & (
  | { readonly kty: 'RSA'; readonly hash: Hash }
  | { readonly kty: 'EC'; readonly crv: EcCurve; readonly hash: Hash }
  | { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly hash: null }
)

/** Facts by JWS `alg` (RFC 7518 §3.1, RFC 8037 §3.1). */
export const KEY_ALGORITHMS = {
  RS256: { kty: 'RSA', hash: 'sha256', quick: false },
  RS384: { kty: 'RSA', hash: 'sha384', quick: false },
  RS512: { kty: 'RSA', hash: 'sha512', quick: false },
  ES256: { kty: 'EC', crv: 'P-256', hash: 'sha256', quick: true },
  ES384: { kty: 'EC', crv: 'P-384', hash: 'sha384', quick: false },
  ES512: { kty: 'EC', crv: 'P-521', hash: 'sha512', quick: false },
  EdDSA: { kty: 'OKP', crv: 'Ed25519', hash: null, quick: true },
} as const satisfies Record<string, AlgorithmFacts>

/** A JWS `alg` that Keyturn signs with. */
export type KeyAlgorithm = keyof typeof KEY_ALGORITHMS

export const KEY_ALGORITHM_NAMES = Object.keys(KEY_ALGORITHMS) as readonly KeyAlgorithm[]

/** The kind of key that an instance starts with, and the default of the specification (Spec §2.3). */
export const DEFAULT_WEB_KEY_CONFIG = {
  kind: 'rsa',
  bits: 2048,
  hasher: 'sha256',
} as const satisfies WebKeyConfig

/** The algorithm that keys of this kind sign with. */
export function algorithmOf(config: WebKeyConfig): KeyAlgorithm {
  const wanted = wantedFacts(config)
  for (const [algorithm, facts] of Object.entries(KEY_ALGORITHMS) as [KeyAlgorithm, AlgorithmFacts][]) {
    if (facts.kty !== wanted.kty) continue
    if (facts.kty === 'RSA' ? facts.hash === wanted.hash : facts.crv === wanted.crv) return algorithm
  }
  throw new Error(`no algorithm for ${JSON.stringify(config)}`)
}

/** Reads a name from outside, such as a database. @throws {Error} if it is not one of the table. */
export function parseKeyAlgorithm(name: string): KeyAlgorithm {
  if (!Object.hasOwn(KEY_ALGORITHMS, name)) throw new Error(`unknown key algorithm ${JSON.stringify(name)}`)
  return name as KeyAlgorithm
}

function wantedFacts(config: WebKeyConfig): { kty: string; hash?: Hash; crv?: string } {
  switch (config.kind) {
    case 'rsa':
      return { kty: 'RSA', hash: config.hasher }
    case 'ecdsa':
      return { kty: 'EC', crv: config.curve }
    case 'ed25519':
      return { kty: 'OKP', crv: 'Ed25519' }
  }
}

/** The kind of a key that exists, which is the config that made it. */
export function configOf(algorithm: KeyAlgorithm, publicJwk: PublicJwk): WebKeyConfig {
  const facts: AlgorithmFacts = KEY_ALGORITHMS[algorithm]
  if (publicJwk.kty === 'RSA' && facts.kty === 'RSA') {
    return { kind: 'rsa', bits: modulusBits(publicJwk.n), hasher: facts.hash }
  }
  if (publicJwk.kty === 'EC') return { kind: 'ecdsa', curve: publicJwk.crv }
  return { kind: 'ed25519' }
}

export function isSameConfig(a: WebKeyConfig, b: WebKeyConfig): boolean {
  if (a.kind === 'rsa' && b.kind === 'rsa') return a.bits === b.bits && a.hasher === b.hasher
  if (a.kind === 'ecdsa' && b.kind === 'ecdsa') return a.curve === b.curve
  return a.kind === b.kind
}

/** A modulus has its highest bit set, so its length in base64url gives the number of bits: 6 per character. */
function modulusBits(modulus: string): RsaBits {
  const bytes = Math.floor((modulus.length * 3) / 4)
  for (const bits of RSA_BITS) if (bytes * 8 === bits) return bits
  throw new Error(`an RSA key of ${bytes * 8} bits is not supported`)
}
