/**
 * A process that makes key pairs, keeps their private halves to itself and signs with them: what a hardware security
 * module is to a program. `device-signer.ts` talks to it.
 */
import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import type { DeviceReply, DeviceRequest } from './device-signer.ts'

const keys = new Map<string, KeyObject>()

process.on('message', ({ id, order }: DeviceRequest) => {
  const send = (reply: DeviceReply) => process.send?.(reply)
  try {
    send({ id, ...carryOut(order) })
  } catch (error) {
    send({ id, failure: String(error) })
  }
})
process.on('disconnect', () => process.exit(0))

function carryOut(order: DeviceRequest['order']): Omit<DeviceReply, 'id'> {
  if (order.kind === 'sign') {
    const key = keys.get(order.name)
    if (key === undefined) throw new Error(`the device has no key ${order.name}`)
    return { signature: sign(order.hash, order.data, { key, dsaEncoding: 'ieee-p1363' }) }
  }
  const { config } = order
  const { publicKey, privateKey } =
    config.kind === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: config.bits })
      : config.kind === 'ecdsa'
        ? generateKeyPairSync('ec', { namedCurve: config.curve })
        : generateKeyPairSync('ed25519')
  const name = randomUUID()
  keys.set(name, privateKey)
  return { name, publicJwk: publicKey.export({ format: 'jwk' }) }
}
