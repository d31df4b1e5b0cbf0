/**
 * `keyturn federation check`: whether a JWT proves a user, and why not.
 *
 * The JWT stays on this machine. It is verified here with the code of the server, its issuers and identities, and its time.
 */
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { createClient, type Transport } from '@connectrpc/connect'
import { Command, Option } from 'commander'
import { FederatedIdentityService } from '../../../gen/iam/federation/v2/federated_identity_service_pb.js'
import type { TrustedIssuer as WireTrustedIssuer } from '../../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { TrustedIssuerService } from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { InstanceService } from '../../../gen/iam/instance/v2/instance_service_pb.js'
import { type KeyFinder, verifyFederatedToken } from '../../crypto/federated-token.ts'
import { keyFinderOf } from '../../crypto/issuer-key.ts'
import { DomainError } from '../../domain/errors.ts'
import type { TrustedIssuer } from '../../domain/federation/trusted-issuer.ts'
import { type FederatedToken, misfitOf, valueAt } from '../../domain/identities/federated-identity.ts'
import { isAssertionAlgorithm } from '../../domain/keys/assertion-algorithm.ts'
import type { FederatedAssertionType } from '../../domain/ports/federation.ts'
import { openApiOf } from '../api-client.ts'
import { argumentOf } from '../api-command.ts'
import { findTarget } from '../connection/target.ts'
import { USER } from '../identities/references.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { printJson, printWarnings } from '../output.ts'
import { everyItemOf } from '../pages.ts'
import { readTextFile } from '../text-file.ts'
import { describeFetches, knownKeys } from './issuer-options.ts'
import { everyIssuer } from './trusted-issuers.ts'

interface CheckOptions extends RemoteOptions {
  readonly type: FederatedAssertionType
}

/** The command. */
export function checkCommand(io: Io): Command {
  return withRemoteOptions(new Command('check'))
    .description('Say whether a JWT proves a user, and why not. The JWT is not sent.')
    .addArgument(argumentOf('userId', USER))
    .argument('<file>', 'a file with the JWT')
    .addOption(
      new Option('--type <type>', 'how the JWT would be sent (client_assertion_type)')
        .choices(['jwt-bearer', 'jwt-spiffe'] satisfies FederatedAssertionType[])
        .default('jwt-bearer'),
    )
    .action(async (user: string, file: string, options: CheckOptions) => {
      const text = await readTextFile(file)
      const jwt = text.trim()
      const target = await findTarget(io, options)
      const api = await openApiOf(target)
      const client = createClient(TrustedIssuerService, api)
      const issuers = (await everyIssuer(api)).map(toTrustedIssuer)
      const now = await timeOfInstance(api)
      let fetches = ''
      const finderOf = ({ issuerId }: TrustedIssuer): KeyFinder => {
        return async (...args) => {
          const { trustedIssuer } = await client.getTrustedIssuer({ issuerId })
          if (trustedIssuer === undefined) throw new Error('the server does not say which keys the issuer has')
          fetches = describeFetches(trustedIssuer)
          if (isTooOld(trustedIssuer, now))
            throw new DomainError('trusted_issuer_unavailable', `the issuer has no keys that may be used: ${fetches}`)
          return keyFinderOf(knownKeys(trustedIssuer))(...args)
        }
      }
      const verified = await verifyFederatedToken({ jwt, type: options.type }, { issuers, now, finderOf })
      if (verified.kind === 'refused') {
        throw new Error(`the JWT is refused: ${verified.reason}${fetches === '' ? '' : ` (${fetches})`}`)
      }
      const { token } = verified
      const identities = await identitiesOf(api, await USER.resolve(user, api))
      const fitting = identities.find((identity) => misfitOf(identity, token, target.base_url) === undefined)
      if (fitting === undefined) throw new Error(`the JWT is refused: ${misfits(identities, token, target.base_url)}`)
      const { identityId } = fitting
      const result = {
        accepted: true,
        identityId,
        issuerId: token.issuerId,
        subject: token.subject,
        audience: token.audience,
      }
      if (text !== jwt)
        printWarnings(io, [
          'the file has white space around the JWT, which the token endpoint refuses: send it without',
        ])
      printJson(io, options, result, () =>
        [`accepted, by the federated identity ${identityId}`, ...(fetches === '' ? [] : [fetches])].join('\n'),
      )
    })
}

/** What the server compares dates with. */
async function timeOfInstance(api: Transport): Promise<Date> {
  const { instance } = await createClient(InstanceService, api).getInstance({})
  if (instance?.currentDate === undefined) throw new Error('the server does not say what time it is')
  return timestampDate(instance.currentDate)
}

/** As the API lists it. */
type ListedIdentity = Parameters<typeof misfitOf>[0] & { readonly identityId: string }

/** What of the JWT each identity asks for and does not get. */
function misfits(identities: readonly ListedIdentity[], token: FederatedToken, ownIssuer: string): string {
  if (identities.length === 0) return 'its signature is good, and the user has no federated identities'
  const reasons = identities.map((identity) => describeMisfit(identity, token, ownIssuer))
  return `its signature is good, and no federated identity of the user fits: ${reasons.join('; ')}`
}

/** The first value that is another one than the identity asks for, and both values. */
function describeMisfit(identity: ListedIdentity, token: FederatedToken, ownIssuer: string): string {
  const { identityId, subject, audience, claims } = identity
  const name = misfitOf(identity, token, ownIssuer) ?? ''
  const describe = (is: unknown, asked: string | undefined) =>
    `${name} is ${JSON.stringify(is) ?? 'missing'}, and ${identityId} asks for ${JSON.stringify(asked)}`
  switch (name) {
    case 'iss':
      return `iss is not the one of ${identityId}`
    case 'sub':
      return describe(token.subject, subject)
    case 'aud':
      return describe(token.audience, audience ?? ownIssuer)
    default:
      return describe(valueAt(token.claims, name), claims.find(({ pointer }) => pointer === name)?.value)
  }
}

async function identitiesOf(api: Transport, userId: string): Promise<readonly ListedIdentity[]> {
  const client = createClient(FederatedIdentityService, api)
  const identities = await everyItemOf(
    (page) => client.listFederatedIdentities({ userId, ...page }),
    (response) => response.identities,
  )
  return identities.map((identity) => ({
    ...identity,
    audience: identity.audience === '' ? null : identity.audience,
  }))
}

/** Whether the keys of an issuer are fetched, and there are none that may be used. */
function isTooOld({ fetchedKeys }: WireTrustedIssuer, now: Date): boolean {
  if (fetchedKeys === undefined) return false
  const { expirationDate } = fetchedKeys
  return expirationDate === undefined || timestampDate(expirationDate) <= now
}

function toTrustedIssuer(wire: WireTrustedIssuer): TrustedIssuer {
  const { issuerId, issuer, algorithms, maxLifetimeSeconds, creationDate } = wire
  return {
    issuerId,
    issuer,
    // They are asked for when they are needed.
    keys: { kind: 'given', keys: [] },
    algorithms: algorithms.filter(isAssertionAlgorithm),
    maxLifetimeSeconds,
    createdAt: creationDate === undefined ? new Date(0) : timestampDate(creationDate),
  }
}
