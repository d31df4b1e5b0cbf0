/**
 * Everything about one service user.
 */
import type { CallOptions } from '@connectrpc/connect'
import type { FederatedIdentity } from '../../gen/iam/federation/v2/federated_identity_pb.js'
import type { TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'
import type { Project } from '../../gen/iam/project/v2/project_pb.js'
import type { ClientCertificate } from '../../gen/iam/user/v2/client_certificate_pb.js'
import type { ClientSecret, PersonalAccessToken, ServiceUser, UserKey } from '../../gen/iam/user/v2/service_user_pb.js'
import { clientCertificates, federatedIdentities, serviceUsers, trustedIssuers } from '../api/clients.ts'
import { everyItemOf } from '../api/every-page.ts'
import { allProjects } from '../projects/project-names.ts'
import { may } from '../session/session.ts'

/** A service user with its credentials. */
export interface UserRecord {
  readonly user: ServiceUser
  readonly secrets: readonly ClientSecret[]
  readonly keys: readonly UserKey[]
  readonly certificates: readonly ClientCertificate[]
  readonly tokens: readonly PersonalAccessToken[]
  readonly identities: readonly FederatedIdentity[]
  readonly issuers: readonly TrustedIssuer[]
  readonly projects: readonly Project[]
}

/** Reads it. Undefined: there is no such user. */
export async function readUser(userId: string, options: CallOptions): Promise<UserRecord | undefined> {
  const [{ serviceUser: user }, secrets, keys, certificates, tokens, identities, issuers, projects] = await Promise.all(
    [
      serviceUsers.getServiceUser({ userId }, options),
      everyItemOf(async (page) => {
        const { secrets: items, nextPageToken } = await serviceUsers.listClientSecrets({ userId, ...page }, options)
        return { items, nextPageToken }
      }),
      everyItemOf(async (page) => {
        const { keys: items, nextPageToken } = await serviceUsers.listUserKeys({ userId, ...page }, options)
        return { items, nextPageToken }
      }),
      everyItemOf(async (page) => {
        const response = await clientCertificates.listClientCertificates({ userId, ...page }, options)
        return { items: response.certificates, nextPageToken: response.nextPageToken }
      }),
      everyItemOf(async (page) => {
        const response = await serviceUsers.listPersonalAccessTokens({ userId, ...page }, options)
        return { items: response.personalAccessTokens, nextPageToken: response.nextPageToken }
      }),
      everyItemOf(async (page) => {
        const response = await federatedIdentities.listFederatedIdentities({ userId, ...page }, options)
        return { items: response.identities, nextPageToken: response.nextPageToken }
      }),
      may('iam.trusted_issuer.read')
        ? everyItemOf(async (page) => {
            const response = await trustedIssuers.listTrustedIssuers(page, options)
            return { items: response.trustedIssuers, nextPageToken: response.nextPageToken }
          })
        : [],
      allProjects(options),
    ],
  )
  return user === undefined ? undefined : { user, secrets, keys, certificates, tokens, identities, issuers, projects }
}
