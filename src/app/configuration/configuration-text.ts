/** A configuration as it comes in, with keys and certificates as text, and how they are read. */
import type {
  Configuration,
  Mistakes,
  ServiceUserConfiguration,
  TrustedIssuerConfiguration,
} from '../../domain/configuration/configuration.ts'
import { DomainError } from '../../domain/errors.ts'
import type { UserKey } from '../../domain/identities/credential.ts'
import { type KeyOrigin, readKeyOrigin, type TrustedIssuersOptions } from '../federation/trusted-issuers.ts'
import type { CredentialsOptions } from '../identities/credentials.ts'

export interface ConfigurationText extends Omit<Configuration, 'serviceUsers' | 'trustedIssuers'> {
  readonly serviceUsers: readonly ServiceUserText[]
  readonly trustedIssuers: readonly TrustedIssuerText[]
}

export interface ServiceUserText extends Omit<ServiceUserConfiguration, 'publicKeys'> {
  /** Each a JWK, JSON. */
  readonly publicKeys: readonly { readonly json: string; readonly expiresAt: Date | null }[]
}

export interface TrustedIssuerText extends Omit<TrustedIssuerConfiguration, 'keys'> {
  /** Null: what was given was a mistake. */
  readonly keys: KeyOrigin | null
}

export type KeyParsers = Pick<TrustedIssuersOptions, 'parseIssuerKeys' | 'parseCaCertificates'> &
  Pick<CredentialsOptions, 'parseUserKeys'>

/** Reads keys and certificates. Those that cannot be read are mistakes. */
export function readConfiguration(text: ConfigurationText, parsers: KeyParsers, mistakes: Mistakes): Configuration {
  return {
    ...text,
    serviceUsers: text.serviceUsers.map((user, index) => ({
      ...user,
      publicKeys: user.publicKeys.map(({ json, expiresAt }, place) => {
        const path = `serviceUsers[${index}].publicKeys[${place}].publicJwk`
        const publicJwk = mistakes.checked(path, () => parseUserKey(json, parsers))
        return publicJwk === undefined ? null : { publicJwk, expiresAt }
      }),
    })),
    trustedIssuers: text.trustedIssuers.map((issuer, index) => {
      const { keys: origin } = issuer
      const read = () => (origin === null ? undefined : readKeyOrigin(origin, parsers))
      return { ...issuer, keys: mistakes.checked(`trustedIssuers[${index}].keys`, read) ?? null }
    }),
  }
}

function parseUserKey(json: string, { parseUserKeys }: Pick<KeyParsers, 'parseUserKeys'>): UserKey['publicJwk'] {
  const [key, ...others] = parseUserKeys(json)
  if (key !== undefined && others.length === 0) return key
  throw new DomainError('user_key_invalid', 'it must be one JWK: write the keys of a JWK Set one by one')
}
