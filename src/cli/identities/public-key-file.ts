/**
 * Files with public keys of users, and what is in such keys.
 */
import { z } from 'zod'
import type { UserKey } from '../../../gen/iam/user/v2/service_user_pb.js'
import { isSecretJwk, publicMembersOf } from '../../domain/keys/jwk-members.ts'
import { readTextFile } from '../text-file.ts'

const jwk = z.looseObject({ kty: z.string(), crv: z.string().optional(), kid: z.string().optional() })
const jwkSet = z.looseObject({ keys: z.array(jwk) })

/**
 * The public members of the JWK or JWK set in a file, as JSON.
 *
 * @throws {Error} if the file has neither, or a private key, which is not sent, not even to be refused.
 */
export async function readPublicJwk(file: string): Promise<string> {
  const text = await readTextFile(file)
  const document = parseJson(text)
  const { data: set } = jwkSet.safeParse(document)
  const { data: key } = jwk.safeParse(document)
  if (set === undefined && key === undefined) {
    throw new Error(`${file} is neither a JWK nor a JWK set (RFC 7517): it must be JSON with a "kty"`)
  }
  if ([set ?? key ?? {}, ...(set?.keys ?? [])].some(isSecretJwk)) {
    throw new Error(`${file} has a private key: nothing was sent; make a file with the public key only`)
  }
  return JSON.stringify(set === undefined ? publicMembersOf(key ?? {}) : { keys: set.keys.map(publicMembersOf) })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The curve or the type of a key that the API returned. */
export function kindOf({ publicJwk }: UserKey): string {
  const { data } = jwk.safeParse(parseJson(publicJwk))
  return data?.crv ?? data?.kty ?? 'unknown'
}
