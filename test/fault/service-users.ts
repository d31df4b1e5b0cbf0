/**
 * The service users of a scenario, made through the API.
 */
import type { Administrator } from './administrator.ts'
import type { TokenClient } from './token-request.ts'

const USERS = 'iam.user.v2.ServiceUserService'

/** A secret that works, and its names in the API. */
export interface ServiceUserSecret extends TokenClient {
  readonly userId: string
  readonly secretId: string
}

/** Makes a project. Returns its id. */
export async function createProject(administrator: Administrator, name: string): Promise<string> {
  const { project } = await administrator.must<{ project: { projectId: string } }>(
    'iam.project.v2.ProjectService/CreateProject',
    { name },
  )
  return project.projectId
}

/** Makes a service user who may ask for tokens. Returns its id. */
export async function createServiceUser(
  administrator: Administrator,
  projectId: string,
  name: string,
): Promise<string> {
  const request = { projectId, name, clientCredentialsEnabled: true }
  const { serviceUser } = await administrator.must<{ serviceUser: { userId: string } }>(
    `${USERS}/CreateServiceUser`,
    request,
  )
  return serviceUser.userId
}

/** Generates a secret. @param expirationDate Without one it works until it is deactivated. */
export async function generateSecret(
  administrator: Administrator,
  userId: string,
  expirationDate?: Date,
): Promise<ServiceUserSecret> {
  const { secret, clientId, clientSecret } = await administrator.must<{
    secret: { secretId: string }
    clientId: string
    clientSecret: string
  }>(`${USERS}/GenerateClientSecret`, { userId, ...(expirationDate === undefined ? {} : { expirationDate }) })
  return { userId, secretId: secret.secretId, clientId, clientSecret }
}

/** Deactivates a secret, and returns when that was acknowledged. */
export async function deactivateSecret(
  administrator: Administrator,
  { userId, secretId }: ServiceUserSecret,
): Promise<number> {
  await administrator.must(`${USERS}/DeactivateClientSecret`, { userId, secretId })
  return performance.now()
}
