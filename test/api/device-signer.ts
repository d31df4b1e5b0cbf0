/**
 * Makes key pairs and signs in a process of its own (`device-worker.ts`). What stands in the place of the sealed private key is
 * the name of the key in that process.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { calculateJwkThumbprint } from 'jose'
import { algorithmOf, KEY_ALGORITHMS, type PublicJwk, type WebKeyConfig } from '../../src/domain/keys/key-algorithm.ts'
import type { SealedKeyCheck } from '../../src/domain/keys/sealed-keys.ts'
import type { KeyPairGenerator, SignerFactory } from '../../src/domain/ports/keys.ts'

/** What the device is asked. */
export interface DeviceRequest {
  readonly id: number
  readonly order:
    | { readonly kind: 'generate'; readonly config: WebKeyConfig }
    | { readonly kind: 'sign'; readonly name: string; readonly hash: string | null; readonly data: Uint8Array }
}

/** What it answers. */
export interface DeviceReply {
  readonly id: number
  readonly name?: string
  readonly publicJwk?: object
  readonly signature?: Uint8Array
  readonly failure?: string
}

/** A device and what can be done with it. */
export interface KeyDevice {
  readonly generator: KeyPairGenerator
  readonly signers: SignerFactory
  readonly check: SealedKeyCheck
  /** May be called twice. */
  stop(): Promise<void>
}

const SCHEME = 'device:'

/** Starts a device. Stop it in `afterAll`. */
export function startKeyDevice(): KeyDevice {
  const child = fork(new URL('device-worker.ts', import.meta.url), { execArgv: [], serialization: 'advanced' })
  const exited = once(child, 'exit')
  const waiting = new Map<number, (reply: DeviceReply) => void>()
  child.on('message', (reply: DeviceReply) => waiting.get(reply.id)?.(reply))
  child.once('exit', () => {
    for (const [id, resolve] of waiting) resolve({ id, failure: 'the device is gone' })
  })
  let count = 0
  const ask = async (order: DeviceRequest['order']): Promise<DeviceReply> => {
    count += 1
    const id = count
    const { promise, resolve } = Promise.withResolvers<DeviceReply>()
    waiting.set(id, resolve)
    child.send({ id, order }, (error) => error && resolve({ id, failure: error.message }))
    const reply = await promise
    waiting.delete(id)
    if (reply.failure !== undefined) throw new Error(reply.failure)
    return reply
  }

  return {
    generator: {
      async generate(config) {
        const { name, publicJwk } = await ask({ kind: 'generate', config })
        const keyId = await calculateJwkThumbprint(publicJwk as PublicJwk, 'sha256')
        return {
          keyId,
          algorithm: algorithmOf(config),
          publicJwk: publicJwk as PublicJwk,
          sealedPrivateKey: `${SCHEME}${name}`,
        }
      },
    },
    signers: {
      async open(key, sealedPrivateKey) {
        if (!sealedPrivateKey.startsWith(SCHEME)) throw new Error('the private key is not in the device')
        const name = sealedPrivateKey.slice(SCHEME.length)
        const { hash } = KEY_ALGORITHMS[key.algorithm]
        const signWith = async (data: Uint8Array) => (await ask({ kind: 'sign', name, hash, data })).signature!
        // A key that is not there is noticed now and not by the first client.
        await signWith(new Uint8Array())
        return { key, sign: signWith }
      },
    },
    check: {
      async assertOpens({ sealed }) {
        if (!sealed.startsWith(SCHEME)) throw new Error('the private key is not in the device')
      },
    },
    async stop() {
      child.kill()
      await exited
    },
  }
}
