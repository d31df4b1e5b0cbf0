/**
 * `keyturn federation identities list | add | remove`: the JWTs that a user may prove itself with.
 */
import { InvalidArgumentError } from 'commander'
import { FederatedIdentityService } from '../../../gen/iam/federation/v2/federated_identity_service_pb.js'
import { isUuid } from '../../domain/uuid.ts'
import { call, group, list } from '../commands.ts'
import { USER } from '../identities/references.ts'
import { option } from '../options.ts'
import { ageOf } from '../times.ts'
import { ISSUER } from './issuer-options.ts'

interface Claim {
  readonly pointer: string
  readonly value: string
}

const { method: Methods } = FederatedIdentityService

/** The group of commands. */
export const identitiesCommand = group(
  'identities',
  [
    list(Methods.listFederatedIdentities, 'identities', {
      description: 'List the federated identities of a user, oldest first.',
      takes: { userId: USER },
      heading: ['IDENTITY ID', 'ISSUER ID', 'SUBJECT', 'CLAIMS', 'AGE'],
      row: ({ identityId, issuerId, subject, claims, creationDate }) => [
        identityId,
        issuerId,
        subject,
        claims.map(({ pointer, value }) => `${pointer}=${value}`).join(' '),
        ageOf(creationDate),
      ],
    }),
    call('add', Methods.addFederatedIdentity, {
      description:
        'Let a user prove itself with JWTs of a trusted issuer. Every value must be equal; there are no patterns.',
      takes: { userId: USER },
      options: {
        issuer: option<string>('--issuer <issuer>', 'name or id of the trusted issuer').makeOptionMandatory(),
        subject: option<string>('--subject <sub>', 'the exact sub of the JWTs').makeOptionMandatory(),
        audience: option('--audience <aud>', 'the one aud of the JWTs; default: the issuer of this service'),
        claim: option<Claim[]>(
          '--claim <pointer=value>',
          'a claim that the JWTs must have, by JSON pointer; can be repeated',
        )
          .default([])
          .argParser((text: string, before: readonly Claim[]) => [...before, parseClaim(text)]),
      },
      async request({ userId }, { api, options }) {
        const { issuer, subject, audience = '', claim: claims } = options
        return { userId, issuerId: await ISSUER.resolve(issuer, api), subject, audience, claims }
      },
      text: ({ identity }) => `added ${identity?.identityId}`,
    }),
    call('remove', Methods.removeFederatedIdentity, {
      description: 'Remove a federated identity. JWTs that fit it are refused.',
      takes: { userId: USER, identityId: { resolve: identityIdIn } },
      question: ({ identityId }) => `Remove the federated identity ${identityId}? JWTs that fit it are refused then.`,
      text: (_, { identityId }) => `removed ${identityId}`,
    }),
  ],
  'The JWTs of trusted issuers that a user may prove itself with.',
)

function identityIdIn(text: string): string {
  if (isUuid(text.toLowerCase())) return text
  const hint = '"keyturn federation identities list" prints those of a user'
  throw new Error(`${JSON.stringify(text)} is no id of a federated identity: ${hint}`)
}

/** The pointer ends at the first equals sign, which a name can have only in a request of another kind. */
function parseClaim(text: string): Claim {
  const at = text.indexOf('=')
  if (!text.startsWith('/') || at < 0)
    throw new InvalidArgumentError('It is a JSON pointer, = and a text: /repository=shop/web.')
  return { pointer: text.slice(0, at), value: text.slice(at + 1) }
}
