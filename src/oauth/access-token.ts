/**
 * Signs access tokens (RFC 9068) with one key, in the form in which the engine does.
 */
import { randomBytes } from 'node:crypto'
import type { Signer } from '../domain/ports.ts'

/** 256 bits, as the engine's ids have. */
const ID_BYTES = 32

/** Signs claims. They must be complete but for `jti`. */
export type TokenWriter = (claims: Readonly<Record<string, unknown>>) => Promise<string>

/** Makes a writer of tokens that this signer signs. */
export function createTokenWriter({ key, sign }: Signer): TokenWriter {
  const header = encode({ alg: key.algorithm, typ: 'at+jwt', kid: key.keyId })
  return async (claims) => {
    const jti = randomBytes(ID_BYTES).toString('base64url')
    const signed = `${header}.${encode({ jti, ...claims })}`
    const signature = await sign(Buffer.from(signed, 'latin1'))
    const { buffer, byteOffset, byteLength } = signature
    return `${signed}.${Buffer.from(buffer, byteOffset, byteLength).toString('base64url')}`
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
