/**
 * Signs access tokens (RFC 9068) with one key, in the form in which the engine does.
 */
import { randomFillSync } from 'node:crypto'
import type { Signer } from '../../domain/ports.ts'

/** 256 bits, as the engine's ids have. */
const ID_BYTES = 32

/** How many ids are drawn at once: asking for random bytes costs more than the bytes. */
const IDS_AT_ONCE = 128

/** Signs claims. They must be complete but for `jti`. */
export type AccessTokenSigner = (claims: Readonly<Record<string, unknown>>) => Promise<string>

/** Makes a writer of tokens that this signer signs. */
export function createAccessTokenSigner({ key, sign }: Signer): AccessTokenSigner {
  const header = encode({ alg: key.algorithm, typ: 'at+jwt', kid: key.keyId })
  const nextId = createIds()
  return async (claims) => {
    const jti = nextId()
    const signed = `${header}.${encode({ jti, ...claims })}`
    const signature = await sign(Buffer.from(signed, 'latin1'))
    const { buffer, byteOffset, byteLength } = signature
    return `${signed}.${Buffer.from(buffer, byteOffset, byteLength).toString('base64url')}`
  }
}

function createIds(): () => string {
  const random = Buffer.alloc(ID_BYTES * IDS_AT_ONCE)
  let at = random.length
  return () => {
    if (at === random.length) {
      randomFillSync(random)
      at = 0
    }
    at += ID_BYTES
    return random.toString('base64url', at - ID_BYTES, at)
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
