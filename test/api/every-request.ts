/**
 * A request for every method of the API that succeeds, and changes something if the method can, each on a target of its
 * own: in whichever order they come, none is in the way of another.
 */
import { generateKeyPairSync } from 'node:crypto'
import type { JsonValue } from '@bufbuild/protobuf'
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { ProjectMemberRole } from '../../gen/iam/project/v2/project_pb.js'
import type { Administration } from '../support/administration.ts'

/** Requests as JSON, by method, for example `iam.project.v2.ProjectService/GetProject`. */
export type EveryRequest = Readonly<Record<string, JsonValue>>

/**
 * Makes the targets, and the requests about them. The rotation policy must be switched off.
 *
 * @param name Of the project of the targets, and a part of the names of what has to be unique.
 * @param keyRequests Those about web keys, if their targets are there already: callers who may not change any can share them.
 */
export async function everyRequest(
  admin: Administration,
  name = 'targets',
  keyRequests?: EveryRequest,
): Promise<EveryRequest> {
  const projectId = await newProject(admin, name)
  return {
    ...(keyRequests ?? (await webKeyRequests(admin))),
    ...projectRequests({ name, projectId, unwantedProjectId: await newProject(admin, `${name}-unwanted`) }),
    ...(await memberRequests(admin, projectId)),
    ...(await userRequests(admin, projectId)),
    ...(await credentialRequests(admin, projectId)),
    ...(await certificateRequests(admin, projectId)),
    ...(await federationRequests(admin, projectId, name)),
    'iam.audit.v2.AuditService/ListAuditEvents': { pageSize: 1 },
    'iam.instance.v2.InstanceService/GetInstance': {},
    ...(await consoleRequests(admin)),
    ...(await webhookRequests(admin, name)),
    'iam.config.v2.ConfigService/PlanConfiguration': { configuration: { projects: [{ name: 'configured' }] } },
    'iam.config.v2.ConfigService/ApplyConfiguration': { configuration: { projects: [{ name: 'configured' }] } },
    'iam.config.v2.ConfigService/ExportConfiguration': { projects: ['configured'] },
  }
}

/** Makes six web keys, and the requests about them. */
export async function webKeyRequests({ keys }: Administration): Promise<EveryRequest> {
  const created: string[] = []
  for (let count = 0; count < 6; count += 1) {
    const { webKey } = await keys.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
    created.push(webKey!.keyId)
  }
  const [inactive, otherInactive, active, standby, otherStandby, leaked] = created
  // Only those that have signed can be deleted.
  for (const keyId of [inactive, otherInactive, active]) await keys.activateWebKey({ keyId: keyId! })
  return {
    'iam.webkey.v2beta.WebKeyService/CreateWebKey': { config: { ed25519: {} } },
    'iam.webkey.v2beta.WebKeyService/ActivateWebKey': { keyId: standby! },
    'iam.webkey.v2beta.WebKeyService/ListWebKeys': {},
    'iam.webkey.v2beta.WebKeyService/DeleteWebKey': { keyId: inactive! },
    'iam.webkey.v2.WebKeyService/CreateWebKey': { config: { ed25519: {} } },
    'iam.webkey.v2.WebKeyService/ActivateWebKey': { keyId: otherStandby! },
    'iam.webkey.v2.WebKeyService/GetWebKey': { keyId: active! },
    'iam.webkey.v2.WebKeyService/ListWebKeys': {},
    'iam.webkey.v2.WebKeyService/DeleteWebKey': { keyId: otherInactive! },
    'iam.webkey.v2.WebKeyService/RotateWebKey': {},
    'iam.webkey.v2.WebKeyService/RevokeWebKey': { keyId: leaked! },
    'iam.webkey.v2.WebKeyService/GetRotationPolicy': {},
    'iam.webkey.v2.WebKeyService/UpdateRotationPolicy': { policy: { enabled: true }, updateMask: 'enabled' },
    'iam.webkey.v2.WebKeyService/GetRotationSchedule': {},
  }
}

function projectRequests({
  name,
  projectId,
  unwantedProjectId,
}: {
  readonly name: string
  readonly projectId: string
  readonly unwantedProjectId: string
}): EveryRequest {
  return {
    'iam.project.v2.ProjectService/CreateProject': { name: `${name}-wanted` },
    'iam.project.v2.ProjectService/GetProject': { projectId },
    'iam.project.v2.ProjectService/ListProjects': {},
    'iam.project.v2.ProjectService/UpdateProject': { projectId, name: `${name}-renamed`, updateMask: 'name' },
    'iam.project.v2.ProjectService/DeleteProject': { projectId: unwantedProjectId },
    'iam.project.v2.ProjectService/AddProjectRole': { projectId, role: 'wanted' },
    'iam.project.v2.ProjectService/ListProjectRoles': { projectId },
    'iam.project.v2.ProjectService/RemoveProjectRole': { projectId, role: 'unwanted' },
    'iam.project.v2.ProjectService/AddProjectScope': { projectId, scope: 'wanted' },
    'iam.project.v2.ProjectService/ListProjectScopes': { projectId },
    'iam.project.v2.ProjectService/RemoveProjectScope': { projectId, scope: 'unwanted' },
    'iam.project.v2.ProjectService/AddProjectAudience': { projectId, audience: `urn:${name}:wanted` },
    'iam.project.v2.ProjectService/ListProjectAudiences': { projectId },
    'iam.project.v2.ProjectService/RemoveProjectAudience': { projectId, audience: `urn:${name}:unwanted` },
  }
}

async function memberRequests(admin: Administration, projectId: string): Promise<EveryRequest> {
  const [userId, member] = [await newUser(admin, projectId), await newUser(admin, projectId)]
  await admin.projects.setProjectMember({ projectId, userId: member, role: ProjectMemberRole.PROJECT_OWNER })
  const role = 'PROJECT_MEMBER_ROLE_PROJECT_OWNER_VIEWER'
  return {
    'iam.project.v2.ProjectService/SetProjectMember': { projectId, userId, role },
    'iam.project.v2.ProjectService/ListProjectMembers': { projectId },
    'iam.project.v2.ProjectService/RemoveProjectMember': { projectId, userId: member },
  }
}

async function userRequests(admin: Administration, projectId: string): Promise<EveryRequest> {
  const { users } = admin
  const [userId, disabled, enabled, unwanted] = [
    await newUser(admin, projectId),
    await newUser(admin, projectId),
    await newUser(admin, projectId),
    await newUser(admin, projectId),
  ]
  await users.disableServiceUser({ userId: disabled })
  await users.grantProjectRole({ userId, projectId, role: 'granted' })
  await users.grantScope({ userId, scope: 'granted' })
  return {
    'iam.user.v2.ServiceUserService/CreateServiceUser': { projectId, name: 'wanted' },
    'iam.user.v2.ServiceUserService/GetServiceUser': { userId },
    'iam.user.v2.ServiceUserService/ListServiceUsers': {},
    'iam.user.v2.ServiceUserService/UpdateServiceUser': { userId, name: 'renamed', updateMask: 'name' },
    'iam.user.v2.ServiceUserService/EnableServiceUser': { userId: disabled },
    'iam.user.v2.ServiceUserService/DisableServiceUser': { userId: enabled },
    'iam.user.v2.ServiceUserService/DeleteServiceUser': { userId: unwanted },
    'iam.user.v2.ServiceUserService/RevokeTokens': { userId },
    'iam.user.v2.ServiceUserService/IntrospectToken': { token: 'unknown' },
    'iam.user.v2.ServiceUserService/SetInstanceRoles': { userId, instanceRoles: ['INSTANCE_ROLE_IAM_OWNER'] },
    'iam.user.v2.ServiceUserService/GrantProjectRole': { userId, projectId, role: 'reader' },
    'iam.user.v2.ServiceUserService/RevokeProjectRole': { userId, projectId, role: 'granted' },
    'iam.user.v2.ServiceUserService/GrantScope': { userId, scope: 'read' },
    'iam.user.v2.ServiceUserService/RevokeScope': { userId, scope: 'granted' },
  }
}

async function credentialRequests(admin: Administration, projectId: string): Promise<EveryRequest> {
  const { users } = admin
  const userId = await newUser(admin, projectId)
  const expirationDate = timestampFromDate(new Date(Date.now() + 3_600_000))
  const { secret } = await users.generateClientSecret({ userId })
  const { secret: other } = await users.generateClientSecret({ userId })
  const { keys } = await users.addUserKey({ userId, publicJwk: newPublicJwk() })
  const { personalAccessToken } = await users.createPersonalAccessToken({ userId, expirationDate })
  return {
    'iam.user.v2.ServiceUserService/GenerateClientSecret': { userId },
    'iam.user.v2.ServiceUserService/ListClientSecrets': { userId },
    'iam.user.v2.ServiceUserService/DeactivateClientSecret': { userId, secretId: secret!.secretId },
    'iam.user.v2.ServiceUserService/DeleteClientSecret': { userId, secretId: other!.secretId },
    'iam.user.v2.ServiceUserService/AddUserKey': { userId, publicJwk: newPublicJwk() },
    'iam.user.v2.ServiceUserService/ListUserKeys': { userId },
    'iam.user.v2.ServiceUserService/RemoveUserKey': { userId, keyId: keys[0]!.keyId },
    'iam.user.v2.ServiceUserService/CreatePersonalAccessToken': {
      userId,
      expirationDate: timestampDate(expirationDate).toISOString(),
    },
    'iam.user.v2.ServiceUserService/ListPersonalAccessTokens': { userId },
    'iam.user.v2.ServiceUserService/RevokePersonalAccessToken': { userId, tokenId: personalAccessToken!.tokenId },
  }
}

async function certificateRequests(admin: Administration, projectId: string): Promise<EveryRequest> {
  const userId = await newUser(admin, projectId)
  const match = { match: { case: 'sanDns', value: 'unwanted.example' } } as const
  const { certificate } = await admin.certificates.addClientCertificate({ userId, match })
  return {
    'iam.user.v2.ClientCertificateService/AddClientCertificate': { userId, match: { sanDns: 'wanted.example' } },
    'iam.user.v2.ClientCertificateService/ListClientCertificates': { userId },
    'iam.user.v2.ClientCertificateService/RemoveClientCertificate': {
      userId,
      certificateId: certificate!.certificateId,
    },
  }
}

async function federationRequests(admin: Administration, projectId: string, prefix: string): Promise<EveryRequest> {
  const { issuers, identities } = admin
  const userId = await newUser(admin, projectId)
  const newIssuer = async (name: string) => {
    const keys = { source: { case: 'jwks', value: newJwks() } } as const
    const { trustedIssuer } = await issuers.createTrustedIssuer({ issuer: `https://${name}.${prefix}.example`, keys })
    return trustedIssuer!.issuerId
  }
  const [issuerId, unwanted] = [await newIssuer('target'), await newIssuer('unwanted')]
  // An address that is not allowed: nothing is fetched.
  const source = { case: 'jwksUrl', value: 'https://127.0.0.1:1/jwks' } as const
  const { trustedIssuer } = await issuers.createTrustedIssuer({
    issuer: `https://fetched.${prefix}.example`,
    keys: { source },
  })
  const { identity } = await identities.addFederatedIdentity({ userId, issuerId, subject: 'unwanted' })
  const keys = { jwks: newJwks() }
  return {
    'iam.federation.v2.TrustedIssuerService/CreateTrustedIssuer': { issuer: `https://wanted.${prefix}.example`, keys },
    'iam.federation.v2.TrustedIssuerService/GetTrustedIssuer': { issuerId },
    'iam.federation.v2.TrustedIssuerService/ListTrustedIssuers': {},
    'iam.federation.v2.TrustedIssuerService/UpdateTrustedIssuer': { issuerId, keys, updateMask: 'keys' },
    'iam.federation.v2.TrustedIssuerService/RefreshTrustedIssuerKeys': { issuerId: trustedIssuer!.issuerId },
    'iam.federation.v2.TrustedIssuerService/DeleteTrustedIssuer': { issuerId: unwanted },
    'iam.federation.v2.FederatedIdentityService/AddFederatedIdentity': { userId, issuerId, subject: 'wanted' },
    'iam.federation.v2.FederatedIdentityService/ListFederatedIdentities': { userId },
    'iam.federation.v2.FederatedIdentityService/RemoveFederatedIdentity': {
      userId,
      identityId: identity!.identityId,
    },
  }
}

async function consoleRequests({ console }: Administration): Promise<EveryRequest> {
  const { url } = await console.createSignInLink({})
  const code = new URLSearchParams(new URL(url).hash.slice(1)).get('code')
  const headers = { 'content-type': 'application/json', 'x-keyturn-console': '1' }
  await fetch(new URL('/console/session', url), { method: 'POST', headers, body: JSON.stringify({ code }) })
  const { sessions } = await console.listSessions({ pageSize: 1000 })
  return {
    'iam.console.v2.ConsoleService/CreateSignInLink': {},
    'iam.console.v2.ConsoleService/ListSessions': {},
    'iam.console.v2.ConsoleService/RevokeSession': { sessionId: sessions.at(-1)!.sessionId },
  }
}

async function webhookRequests({ webhooks }: Administration, prefix: string): Promise<EveryRequest> {
  // A name that cannot be resolved (RFC 6761).
  const url = 'https://receiver.invalid/events'
  const create = async (name: string) =>
    (await webhooks.createWebhook({ name: `${prefix}-${name}`, url })).webhook!.webhookId
  const [webhookId, unwanted] = [await create('target'), await create('unwanted')]
  return {
    'iam.event.v2.WebhookService/CreateWebhook': { name: `${prefix}-wanted`, url },
    'iam.event.v2.WebhookService/GetWebhook': { webhookId },
    'iam.event.v2.WebhookService/ListWebhooks': {},
    'iam.event.v2.WebhookService/UpdateWebhook': { webhookId, name: `${prefix}-renamed`, updateMask: 'name' },
    'iam.event.v2.WebhookService/RotateWebhookSecret': { webhookId },
    'iam.event.v2.WebhookService/TestWebhook': { webhookId },
    'iam.event.v2.WebhookService/DeleteWebhook': { webhookId: unwanted },
  }
}

async function newProject({ projects }: Administration, name: string): Promise<string> {
  const { project } = await projects.createProject({ name })
  const { projectId } = project!
  for (const role of ['reader', 'granted', 'unwanted']) await projects.addProjectRole({ projectId, role })
  for (const scope of ['read', 'granted', 'unwanted']) await projects.addProjectScope({ projectId, scope })
  await projects.addProjectAudience({ projectId, audience: `urn:${name}:unwanted` })
  return projectId
}

async function newUser({ users }: Administration, projectId: string): Promise<string> {
  return (await users.createServiceUser({ projectId, name: 'target' })).serviceUser!.userId
}

function newJwks(): string {
  return `{"keys":[${newPublicJwk()}]}`
}

function newPublicJwk(): string {
  return JSON.stringify(generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }))
}
