/**
 * Files with the public keys of issuers.
 */
import { isSecretJwk } from '../../domain/keys/jwk-members.ts'
import { readTextFile } from '../text-file.ts'

/** The JWK set in a file. @throws {Error} if it has none, or a private key, which is not sent, not even to be refused. */
export async function readJwks(file: string): Promise<string> {
  const text = await readTextFile(file)
  const keys = keysIn(text)
  if (keys === undefined) throw new Error(`${file} is no JWK set (RFC 7517): it must be JSON with "keys"`)
  if (keys.some((key) => typeof key === 'object' && key !== null && isSecretJwk({ ...key }))) {
    throw new Error(`${file} has a private key: nothing was sent; make a file with the public keys only`)
  }
  return text
}

function keysIn(text: string): readonly unknown[] | undefined {
  try {
    const document: unknown = JSON.parse(text)
    const keys = typeof document === 'object' && document !== null && 'keys' in document ? document.keys : undefined
    return Array.isArray(keys) ? keys : undefined
  } catch {
    return undefined
  }
}
