/** Generates key pairs for web keys off the main thread, names them by their thumbprint, seals the private half and wipes it. */
import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { DomainError } from '../domain/errors.ts'
import { algorithmOf, type PublicJwk, type WebKeyConfig } from '../domain/keys/key-algorithm.ts'
import type { SealedKeyPair } from '../domain/keys/key-ring.ts'
import type { KeyPairGenerator, KeyPairPriority } from '../domain/ports/keys.ts'
import { Semaphore } from '../domain/semaphore.ts'
import { thumbprint } from './public-key-macs.ts'
import type { KeySealer } from './sealed-key.ts'

const LIMITS = { maxRunning: 1, maxWaiting: 8, refusal: busy }

/**
 * A generator with a queue for each priority. Each makes one key pair at a time, in the order of the calls, and lets at most
 * eight calls wait.
 *
 * One at a time because an RSA pair occupies a thread of the pool for seconds, and signing tokens needs that pool, which
 * has four.
 */
export function createKeyPairGenerator(sealer: KeySealer): KeyPairGenerator {
  const queues: Readonly<Record<KeyPairPriority, Semaphore>> = {
    normal: new Semaphore(LIMITS),
    high: new Semaphore(LIMITS),
  }
  return {
    generate: (config, priority = 'normal') => queues[priority].run(() => generateSealed(config, sealer)),
  }
}

function busy(): DomainError {
  const count = LIMITS.maxRunning + LIMITS.maxWaiting
  return new DomainError('key_generation_busy', `${count} keys are being generated already: try again later`)
}

async function generateSealed(config: WebKeyConfig, sealer: KeySealer): Promise<SealedKeyPair> {
  const algorithm = algorithmOf(config)
  const { publicKey: publicJwk, privateKey: pkcs8 } = await generate(config)
  try {
    const keyId = thumbprint(publicJwk)
    return { keyId, algorithm, publicJwk, sealedPrivateKey: await sealer.seal(pkcs8, { keyId, algorithm }) }
  } finally {
    pkcs8.fill(0)
  }
}

/** Both halves are exported. With a `KeyObject`, even that of the public half, the private half would live until a collection. */
const ENCODINGS = {
  publicKeyEncoding: { format: 'jwk' },
  privateKeyEncoding: { format: 'der', type: 'pkcs8' },
} as const

interface WrittenPair {
  readonly publicKey: PublicJwk
  readonly privateKey: Buffer<ArrayBuffer>
}

// The types do not know the export as a JWK.
const write = promisify(generateKeyPair) as unknown as (type: string, options: object) => Promise<WrittenPair>

function generate(config: WebKeyConfig): Promise<WrittenPair> {
  switch (config.kind) {
    case 'rsa':
      return write('rsa', { modulusLength: config.bits, ...ENCODINGS })
    case 'ecdsa':
      return write('ec', { namedCurve: config.curve, ...ENCODINGS })
    case 'ed25519':
      return write('ed25519', ENCODINGS)
  }
}
