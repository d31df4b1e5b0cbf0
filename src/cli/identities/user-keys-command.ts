/**
 * `keyturn users keys add | list | remove`: the public keys of a user for private_key_jwt.
 */
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import type { UserKey } from '../../../gen/iam/user/v2/service_user_pb.js'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { isSecretJwk, publicMembersOf } from '../../domain/keys/jwk-members.ts'
import { call, group, list } from '../api-command.ts'
import { ageOf, timeLeft } from '../table.ts'
import { readTextFile } from '../text-file.ts'
import { expiresOption } from '../when.ts'
import { USER } from './references.ts'

type Jwk = Readonly<Record<string, unknown>>

const { method: Methods } = ServiceUserService

/** The group of commands. */
export const userKeysCommand = group('keys', 'Public keys of a user, for private_key_jwt (RFC 7523).', [
  call({
    name: 'add',
    description: 'Add a public key. The private key stays where it is.',
    takes: {
      userId: USER,
      publicJwk: { placeholder: 'file', description: 'a public key as a JWK, or a JWK set', resolve: readPublicJwk },
    },
    options: [expiresOption()],
    method: Methods.addUserKey,
    request: (key, { options: { expires } }: { readonly options: { readonly expires?: Timestamp } }) => ({
      ...key,
      ...(expires === undefined ? {} : { expirationDate: expires }),
    }),
    text: ({ keys }) => keys.map((key) => `added ${key.keyId} (${kindOf(key)})`).join('\n'),
  }),
  list({
    name: 'list',
    description: 'List the public keys of a user, oldest first.',
    takes: { userId: USER },
    method: Methods.listUserKeys,
    items: 'keys',
    heading: ['KEY ID', 'KIND', 'AGE', 'ENDS IN'],
    row: (key) => [key.keyId, kindOf(key), ageOf(key.creationDate), timeLeft(key.expirationDate)],
  }),
  call({
    name: 'remove',
    description: 'Remove a public key. Assertions that it signed are refused.',
    takes: { userId: USER, keyId: {} },
    method: Methods.removeUserKey,
    question: ({ keyId }) => `Remove the public key ${keyId}? Assertions that it signed are refused then.`,
    text: (_, { keyId }) => `removed ${keyId}`,
  }),
])

/**
 * The public members of the JWK or JWK set in a file, as JSON.
 *
 * @throws {Error} if the file has neither, or a private key, which is not sent, not even to be refused.
 */
async function readPublicJwk(file: string): Promise<string> {
  const document = objectIn(await readTextFile(file))
  const keys: unknown = document?.keys
  const set = Array.isArray(keys) && keys.every(isJwk) ? keys : undefined
  if (set === undefined && !isJwk(document)) {
    throw new Error(`${file} is neither a JWK nor a JWK set (RFC 7517): it must be JSON with a "kty"`)
  }
  if ([document ?? {}, ...(set ?? [])].some(isSecretJwk)) {
    throw new Error(`${file} has a private key: nothing was sent; make a file with the public key only`)
  }
  return JSON.stringify(set === undefined ? publicMembersOf(document ?? {}) : { keys: set.map(publicMembersOf) })
}

/** The curve or the type of a key that the API returned. */
function kindOf({ publicJwk }: UserKey): string {
  const { crv, kty = 'unknown' } = objectIn(publicJwk) ?? {}
  return String(crv ?? kty)
}

function isJwk(value: unknown): value is Jwk {
  return typeof value === 'object' && value !== null && 'kty' in value && typeof value.kty === 'string'
}

function objectIn(text: string): Jwk | undefined {
  try {
    const document: unknown = JSON.parse(text)
    return typeof document === 'object' && document !== null ? { ...document } : undefined
  } catch {
    return undefined
  }
}
