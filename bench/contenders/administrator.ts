/**
 * Calls Keyturn's API as its first administrator.
 */
import { createClient, type Interceptor } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { FederatedIdentityService } from '../../gen/iam/federation/v2/federated_identity_service_pb.js'
import { TrustedIssuerService } from '../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { ProjectService } from '../../gen/iam/project/v2/project_service_pb.js'
import { ClientCertificateService } from '../../gen/iam/user/v2/client_certificate_service_pb.js'
import { ServiceUserService } from '../../gen/iam/user/v2/service_user_service_pb.js'
import { EcdsaCurve, RsaBits, RsaHasher } from '../../gen/iam/webkey/v2beta/web_key_pb.js'
import { WebKeyService } from '../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { type Algorithm, type Credentials, SCOPE } from './contender.ts'

/** Where an administrator works. */
export interface Administered {
  readonly url: string
  readonly tokenUrl: string
}

/** The kind of key of each algorithm. */
const KEY_CONFIGS = {
  RS256: { config: { case: 'rsa', value: { bits: RsaBits.RSA_BITS_2048, hasher: RsaHasher.SHA256 } } },
  ES256: { config: { case: 'ecdsa', value: { curve: EcdsaCurve.P256 } } },
  EdDSA: { config: { case: 'ed25519', value: {} } },
} as const

export class Administrator {
  readonly #server: Administered
  readonly #credentials: Credentials
  readonly #transport: ReturnType<typeof createConnectTransport>
  #token: Promise<string> | undefined

  constructor(server: Administered, credentials: Credentials) {
    this.#server = server
    this.#credentials = credentials
    const authenticate: Interceptor = (next) => async (request) => {
      request.header.set('authorization', `Bearer ${await this.token()}`)
      return next(request)
    }
    this.#transport = createConnectTransport({
      baseUrl: server.url,
      httpVersion: '1.1',
      interceptors: [authenticate],
    })
  }

  /** An access token for the API, the same one every time. */
  token(): Promise<string> {
    this.#token ??= requestToken(this.#server.tokenUrl, this.#credentials)
    return this.#token
  }

  /** The web keys of the instance. */
  get webKeys() {
    return createClient(WebKeyService, this.#transport)
  }

  /** Creates a key and returns its id. */
  async createKey(algorithm: Algorithm): Promise<string> {
    const { details } = await this.webKeys.createWebKey({ config: KEY_CONFIGS[algorithm] })
    if (details === undefined) throw new Error('no key was created')
    return details.keyId
  }

  /** Makes a new key of this kind sign. */
  async signWith(algorithm: Algorithm): Promise<void> {
    await this.webKeys.activateWebKey({ keyId: await this.createKey(algorithm) })
  }

  /** Makes a project: a change that concerns no user. */
  async createProject(name: string): Promise<void> {
    await createClient(ProjectService, this.#transport).createProject({ name })
  }

  /** Lets a client authenticate with assertions (RFC 7523) by a key. */
  async addKey(client: Credentials, publicJwk: object): Promise<void> {
    const users = createClient(ServiceUserService, this.#transport)
    await users.addUserKey({ userId: userIdOf(client), publicJwk: JSON.stringify(publicJwk) })
  }

  /** Lets a client authenticate with JWTs of an issuer that this key signs. */
  async federate(
    client: Credentials,
    from: { readonly issuer: string; readonly subject: string; readonly publicJwk: object },
  ): Promise<void> {
    const { issuer, subject, publicJwk } = from
    const keys = { source: { case: 'jwks', value: JSON.stringify({ keys: [publicJwk] }) } } as const
    const { trustedIssuer } = await createClient(TrustedIssuerService, this.#transport).createTrustedIssuer({
      issuer,
      keys,
    })
    const identities = createClient(FederatedIdentityService, this.#transport)
    await identities.addFederatedIdentity({
      userId: userIdOf(client),
      issuerId: trustedIssuer?.issuerId ?? '',
      subject,
    })
  }

  /** Lets a client authenticate with certificates that have this DNS name or thumbprint, and binds its tokens to them. */
  async certify(
    client: Credentials,
    { sanDns, thumbprint }: { readonly sanDns: string; readonly thumbprint: string },
  ): Promise<void> {
    const userId = userIdOf(client)
    const certificates = createClient(ClientCertificateService, this.#transport)
    await certificates.addClientCertificate({ userId, match: { match: { case: 'sanDns', value: sanDns } } })
    await certificates.addClientCertificate({ userId, match: { match: { case: 'thumbprint', value: thumbprint } } })
    const users = createClient(ServiceUserService, this.#transport)
    await users.updateServiceUser({
      userId,
      certificateBoundTokens: true,
      updateMask: { paths: ['certificate_bound_tokens'] },
    })
  }

  /** Creates a project with service users who have a secret each. */
  async createClients(projectName: string, count: number): Promise<Credentials[]> {
    const users = createClient(ServiceUserService, this.#transport)
    const { project } = await createClient(ProjectService, this.#transport).createProject({ name: projectName })
    const clients: Credentials[] = []
    for (let number = 1; number <= count; number += 1) {
      const { serviceUser } = await users.createServiceUser({
        projectId: project?.projectId ?? '',
        name: `robot ${number}`,
        clientCredentialsEnabled: true,
      })
      const { clientId, clientSecret } = await users.generateClientSecret({ userId: serviceUser?.userId ?? '' })
      clients.push({ clientId, clientSecret })
    }
    return clients
  }
}

/** The id of the user behind a client id. */
function userIdOf({ clientId }: Credentials): string {
  return clientId.slice(0, clientId.indexOf('@'))
}

/** The form that asks for a token. */
export function tokenForm({ clientId, clientSecret }: Credentials): string {
  return new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scope: SCOPE,
  }).toString()
}

/** Gets one token. @throws {Error} if there is none. */
export async function requestToken(tokenUrl: string, credentials: Credentials): Promise<string> {
  const response = await fetch(tokenUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: tokenForm(credentials),
  })
  const answer = (await response.json()) as { access_token?: string }
  if (answer.access_token === undefined) throw new Error(`no token: ${response.status} ${JSON.stringify(answer)}`)
  return answer.access_token
}
