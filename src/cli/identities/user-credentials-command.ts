/**
 * `keyturn users keys | tokens`: the public keys of a user for private_key_jwt, and personal access tokens.
 */
import type { UserKey } from '../../../gen/iam/user/v2/service_user_pb.js'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { publicMembersOf } from '../../domain/keys/jwk-members.ts'
import { call, group, list } from '../commands.ts'
import { type Jwk, keysIn, objectIn, readJwks } from '../files.ts'
import { formatFields } from '../output.ts'
import { ageOf, expirationFrom, expiresOption, formatMoment, timeLeft } from '../times.ts'
import { USER } from './references.ts'

const { method: Methods } = ServiceUserService

export const userKeysCommand = group(
  'keys',
  [
    call('add', Methods.addUserKey, {
      description: 'Add a public key. The private key stays where it is.',
      takes: {
        userId: USER,
        publicJwk: { placeholder: 'file', description: 'a public key as a JWK, or a JWK set', resolve: readPublicJwk },
      },
      options: { expires: expiresOption() },
      request: (key, { options }) => ({ ...key, ...expirationFrom(options) }),
      text: ({ keys }) => keys.map((key) => `added ${key.keyId} (${kindOf(key)})`).join('\n'),
    }),
    list(Methods.listUserKeys, 'keys', {
      description: 'List the public keys of a user, oldest first.',
      takes: { userId: USER },
      heading: ['KEY ID', 'KIND', 'AGE', 'ENDS IN'],
      row: (key) => [key.keyId, kindOf(key), ageOf(key.creationDate), timeLeft(key.expirationDate)],
    }),
    call('remove', Methods.removeUserKey, {
      description: 'Remove a public key. Assertions that it signed are refused.',
      takes: { userId: USER, keyId: {} },
      question: ({ keyId }) => `Remove the public key ${keyId}? Assertions that it signed are refused then.`,
      text: (_, { keyId }) => `removed ${keyId}`,
    }),
  ],
  'Public keys of a user, for private_key_jwt (RFC 7523).',
)

export const userTokensCommand = group(
  'tokens',
  [
    call('create', Methods.createPersonalAccessToken, {
      description: 'Create a personal access token and print it, this once.',
      takes: { userId: USER },
      options: { expires: expiresOption().makeOptionMandatory() },
      request: (user, { options }) => ({ ...user, ...expirationFrom(options) }),
      text: ({ token, personalAccessToken }, _, { options }) => {
        const fields = formatFields([
          ['token', token],
          ['token id', personalAccessToken?.tokenId ?? ''],
          ['expires', formatMoment(personalAccessToken?.expirationDate ?? options.expires)],
        ])
        return `${fields}\nThe token is not shown again.`
      },
    }),
    list(Methods.listPersonalAccessTokens, 'personalAccessTokens', {
      description: 'List the personal access tokens of a user without the tokens, oldest first.',
      takes: { userId: USER },
      heading: ['TOKEN ID', 'AGE', 'ENDS IN'],
      row: ({ tokenId, creationDate, expirationDate }) => [tokenId, ageOf(creationDate), timeLeft(expirationDate)],
    }),
    call('revoke', Methods.revokePersonalAccessToken, {
      description: 'Revoke a personal access token at once.',
      takes: { userId: USER, tokenId: {} },
      question: ({ tokenId }) => `Revoke the personal access token ${tokenId} for good?`,
      text: (_, { tokenId }) => `revoked ${tokenId}`,
    }),
  ],
  "Personal access tokens of a user, for calls of Keyturn's own API.",
)

/** The public members of the JWK or JWK set in a file, as JSON. @throws {Error} if the file has neither, or a private key. */
async function readPublicJwk(file: string): Promise<string> {
  const document = await readJwks(file, 'public key')
  const set = keysIn(document)
  if (set.length > 0 && set.every(isJwk)) return JSON.stringify({ keys: set.map(publicMembersOf) })
  if (document !== undefined && isJwk(document)) return JSON.stringify(publicMembersOf(document))
  throw new Error(`${file} is neither a JWK nor a JWK set (RFC 7517): it must be JSON with a "kty"`)
}

/** The curve or the type of a key that the API returned. */
function kindOf({ publicJwk }: UserKey): string {
  const { crv, kty = 'unknown' } = objectIn(publicJwk) ?? {}
  return String(crv ?? kty)
}

function isJwk({ kty }: Jwk): boolean {
  return typeof kty === 'string'
}
