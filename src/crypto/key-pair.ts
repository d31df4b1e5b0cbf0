/**
 * Makes key pairs for web keys: generated off the main thread, named by their thumbprint, sealed at once.
 */
import { generateKeyPair, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import { DomainError } from '../domain/errors.ts'
import { algorithmOf, type PublicJwk, type WebKeyConfig } from '../domain/key-algorithm.ts'
import type { SealedKeyPair } from '../domain/key-ring.ts'
import type { KeyPairGenerator, KeyPairPriority } from '../domain/ports.ts'
import type { KeySealer } from './sealed-key.ts'

const MAX_WAITING = 8

/**
 * A generator with a queue for each priority. Each makes one key pair at a time, in the order of the calls, and lets at most
 * eight calls wait.
 *
 * One at a time because an RSA pair occupies a thread of the pool for seconds, and signing tokens needs that pool, which
 * has four.
 */
export function createKeyPairGenerator(sealer: KeySealer): KeyPairGenerator {
  const queues: Readonly<Record<KeyPairPriority, Queue>> = { normal: new Queue(), high: new Queue() }
  return {
    generate: (config, priority = 'normal') => queues[priority].run(() => generateSealed(config, sealer)),
  }
}

/** Runs one at a time, in the order of the calls. */
class Queue {
  #unfinished = 0
  #last: Promise<unknown> = Promise.resolve()

  /** @throws {DomainError} `key_generation_busy` if too many wait already. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#unfinished > MAX_WAITING) {
      throw new DomainError(
        'key_generation_busy',
        `${this.#unfinished} keys are being generated already: try again later`,
      )
    }
    this.#unfinished += 1
    const result = this.#last.then(work)
    // A failure is for the caller whose key it was, not for those who wait behind.
    this.#last = result.catch(() => undefined)
    try {
      return await result
    } finally {
      this.#unfinished -= 1
    }
  }
}

async function generateSealed(config: WebKeyConfig, sealer: KeySealer): Promise<SealedKeyPair> {
  const algorithm = algorithmOf(config)
  const { publicKey, privateKey } = await generate(config)
  const publicJwk = toPublicJwk(publicKey)
  const keyId = await calculateJwkThumbprint(publicJwk, 'sha256')
  const sealedPrivateKey = await sealer.seal(privateKey, { keyId, algorithm })
  return { keyId, algorithm, publicJwk, sealedPrivateKey }
}

function generate(config: WebKeyConfig): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, publicKey: KeyObject, privateKey: KeyObject) => {
      if (error) reject(error)
      else resolve({ publicKey, privateKey })
    }
    switch (config.kind) {
      case 'rsa':
        return generateKeyPair('rsa', { modulusLength: config.bits }, done)
      case 'ecdsa':
        return generateKeyPair('ec', { namedCurve: config.curve }, done)
      case 'ed25519':
        return generateKeyPair('ed25519', {}, done)
    }
  })
}

function toPublicJwk(publicKey: KeyObject): PublicJwk {
  const jwk = publicKey.export({ format: 'jwk' }) as PublicJwk
  switch (jwk.kty) {
    case 'RSA':
      return { kty: jwk.kty, n: jwk.n, e: jwk.e }
    case 'EC':
      return { kty: jwk.kty, crv: jwk.crv, x: jwk.x, y: jwk.y }
    case 'OKP':
      return { kty: jwk.kty, crv: jwk.crv, x: jwk.x }
  }
}
