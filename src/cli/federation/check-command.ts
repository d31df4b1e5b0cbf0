/**
 * `keyturn federation check`: whether a JWT proves a user, and why not.
 *
 * The JWT stays on this machine. It is verified here with the code of the server, its issuers and identities, and its time.
 */
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { FederatedIdentityService } from '../../../gen/iam/federation/v2/federated_identity_service_pb.js'
import type { TrustedIssuer as WireTrustedIssuer } from '../../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { TrustedIssuerService } from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { InstanceService } from '../../../gen/iam/instance/v2/instance_service_pb.js'
import { verifyFederatedToken } from '../../crypto/federated-token.ts'
import { keyFinderOf, parseIssuerKeys, parsePublishedKeys } from '../../crypto/issuer-key.ts'
import { DomainError } from '../../domain/errors.ts'
import type { IssuerKey, TrustedIssuer } from '../../domain/federation/trusted-issuer.ts'
import { type FederatedToken, misfitOf, valueAt } from '../../domain/identities/federated-identity.ts'
import { isAssertionAlgorithm } from '../../domain/keys/assertion-algorithm.ts'
import type { FederatedAssertionType } from '../../domain/ports/federation.ts'
import { command } from '../commands.ts'
import { readTextFile } from '../files.ts'
import { USER } from '../identities/references.ts'
import { option } from '../options.ts'
import { printResult, printWarnings } from '../output.ts'

export const checkCommand = command('check', {
  description: 'Say whether a JWT proves a user, and why not. The JWT is not sent.',
  takes: { userId: USER, file: { description: 'a file with the JWT' } },
  options: {
    type: option<FederatedAssertionType>('--type <type>', 'how the JWT would be sent (client_assertion_type)')
      .choices(['jwt-bearer', 'jwt-spiffe'] satisfies FederatedAssertionType[])
      .default('jwt-bearer'),
  },
  async run({ userId, file }, { io, api, options }) {
    const text = await readTextFile(file)
    const jwt = text.trim()
    const issuers = await api.all(TrustedIssuerService.method.listTrustedIssuers, 'trustedIssuers')
    const { instance } = await api.call(InstanceService.method.getInstance, {})
    // What the server compares dates with.
    const now = dateOf(instance?.currentDate)
    const finderOf = ({ issuerId }: TrustedIssuer): ReturnType<typeof keyFinderOf> => {
      return async (...args) => {
        const { trustedIssuer } = await api.call(TrustedIssuerService.method.getTrustedIssuer, { issuerId })
        return keyFinderOf(usableKeys(trustedIssuer, now))(...args)
      }
    }
    const context = { issuers: issuers.map(toTrustedIssuer), now, finderOf }
    const verified = await verifyFederatedToken({ jwt, type: options.type }, context)
    if (verified.kind === 'refused') throw new Error(`the JWT is refused: ${verified.reason}`)
    const { token } = verified
    const { base_url: ownIssuer } = api.target
    const request = { userId }
    const wire = await api.all(FederatedIdentityService.method.listFederatedIdentities, 'identities', request)
    const identities = wire.map((identity) => {
      const { issuer = '' } = issuers.find(({ issuerId }) => issuerId === identity.issuerId) ?? {}
      return { ...identity, issuer, audience: identity.audience || null }
    })
    const fitting = identities.find((identity) => misfitOf(identity, token, ownIssuer) === undefined)
    if (fitting === undefined) {
      const misfits = identities.map((identity) => describeMisfit(identity, token, ownIssuer)).join('; ')
      const why =
        misfits === '' ? 'the user has no federated identities' : `no federated identity of the user fits: ${misfits}`
      throw new Error(`the JWT is refused: its signature is good, and ${why}`)
    }
    const { identityId } = fitting
    const { issuerId, subject, audience } = token
    if (text !== jwt)
      printWarnings(io, ['the file has white space around the JWT, which the token endpoint refuses: send it without'])
    await printResult(
      io,
      options,
      { accepted: true, identityId, issuerId, subject, audience },
      () => `accepted, by the federated identity ${identityId}`,
    )
  },
})

type ListedIdentity = Parameters<typeof misfitOf>[0] & { readonly identityId: string; readonly issuer: string }

/** The first value that is another one than the identity asks for, and both values. */
function describeMisfit(identity: ListedIdentity, token: FederatedToken, ownIssuer: string): string {
  const { identityId, issuer: iss, subject: sub, audience, claims } = identity
  const name = misfitOf(identity, token, ownIssuer) ?? ''
  const registered: Readonly<Record<string, string>> = { iss, sub, aud: audience ?? ownIssuer }
  const asked = registered[name] ?? claims.find(({ pointer }) => pointer === name)?.value
  const is = valueAt(token.claims, name in registered ? `/${name}` : name)
  return `${name} is ${JSON.stringify(is) ?? 'missing'}, and ${identityId} asks for ${JSON.stringify(asked)}`
}

/** The keys of an issuer that are given, or that the process of the server that answered has fetched. @throws {DomainError} if these may not be used. */
function usableKeys({ keys, fetchedKeys }: Partial<WireTrustedIssuer> = {}, now: Date): readonly IssuerKey[] {
  if (keys?.source.case === 'jwks') return parseIssuerKeys(keys.source.value)
  const published = parsePublishedKeys(fetchedKeys?.jwks ?? '', 'jwks')
  if (typeof published !== 'string' && dateOf(fetchedKeys?.expirationDate) > now) return published
  const failure = fetchedKeys?.failure || 'they have not been fetched yet'
  throw new DomainError('trusted_issuer_unavailable', `the issuer has no keys that may be used: ${failure}`)
}

/** Without its keys, which are asked for when they are needed. */
function toTrustedIssuer({ issuerId, issuer, ...wire }: WireTrustedIssuer): TrustedIssuer {
  const { algorithms, maxLifetimeSeconds, creationDate } = wire
  return {
    issuerId,
    issuer,
    keys: { kind: 'given', keys: [] },
    algorithms: algorithms.filter(isAssertionAlgorithm),
    maxLifetimeSeconds,
    createdAt: dateOf(creationDate),
  }
}

function dateOf(date: Timestamp | undefined): Date {
  return date === undefined ? new Date(0) : timestampDate(date)
}
