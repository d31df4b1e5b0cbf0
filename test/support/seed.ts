/**
 * Puts projects, service users and secrets straight into the tables, for tests of what reads them.
 *
 * Each call counts as one change of the instance, so that replicas notice it as they would notice any other.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { sql, type Transaction } from 'kysely'
import { ANY_USER } from '../../src/domain/changes.ts'
import type { InstanceRole, ProjectMemberRole } from '../../src/domain/identities/permission.ts'
import type { Integrity } from '../../src/domain/integrity.ts'
import { bumpVersion, readChangeTime } from '../../src/storage/change/instance-row.ts'
import type { Database } from '../../src/storage/postgres/database.ts'
import type { Tables } from '../../src/storage/schema/tables.ts'

/** A project that exists now. */
export interface SeededProject {
  readonly projectId: string
  readonly name: string
}

/** A secret that exists now, and in clear. */
export interface SeededSecret {
  readonly secretId: string
  readonly secret: string
  /** As the table has it. */
  readonly hash: Uint8Array
}

/** A service user that exists now. */
export interface SeededUser {
  readonly userId: string
  readonly clientId: string
  readonly project: SeededProject
}

/** A project with roles and custom scopes. */
export async function seedProject(
  database: Database,
  options: { readonly name?: string; readonly roles?: readonly string[]; readonly scopes?: readonly string[] } = {},
): Promise<SeededProject> {
  const projectId = randomUUID()
  const name = options.name ?? `project-${projectId.slice(0, 8)}`
  await change(database, async (trx) => {
    await trx.insertInto('projects').values({ project_id: projectId, name, creation_date: new Date() }).execute()
  })
  for (const role of options.roles ?? []) await seedProjectRole(database, projectId, role)
  for (const scope of options.scopes ?? []) await seedProjectScope(database, projectId, scope)
  return { projectId, name }
}

/** One more role of a project. */
async function seedProjectRole(database: Database, projectId: string, role: string): Promise<void> {
  await change(database, async (trx) => {
    await trx.insertInto('project_roles').values({ project_id: projectId, role }).execute()
  })
}

/** One more custom scope of a project. */
async function seedProjectScope(database: Database, projectId: string, scope: string): Promise<void> {
  await change(database, async (trx) => {
    await trx.insertInto('project_scopes').values({ project_id: projectId, scope }).execute()
  })
}

/** A user with grants. Enabled, with the client credentials grant, unless the options say otherwise. */
export async function seedUser(
  database: Database,
  options: {
    readonly project: SeededProject
    readonly name?: string
    readonly enabled?: boolean
    readonly clientCredentialsEnabled?: boolean
    readonly certificateBoundTokens?: boolean
    readonly instanceRoles?: readonly InstanceRole[]
    /** Roles over projects in the API, by project id. */
    readonly managedProjects?: Readonly<Record<string, ProjectMemberRole>>
    /** Roles by project id; the projects must have them. */
    readonly projectRoles?: Readonly<Record<string, readonly string[]>>
    /** Custom scopes of the user's own project, which must have them. */
    readonly customScopes?: readonly string[]
  },
): Promise<SeededUser> {
  const userId = randomUUID()
  const { project } = options
  await change(database, async (trx) => {
    await trx
      .insertInto('service_users')
      .values({
        user_id: userId,
        project_id: project.projectId,
        name: options.name ?? 'robot',
        enabled: options.enabled ?? true,
        instance_roles: [...(options.instanceRoles ?? [])],
        settings: JSON.stringify({
          clientCredentialsEnabled: options.clientCredentialsEnabled ?? true,
          certificateBoundTokens: options.certificateBoundTokens ?? false,
        }),
        creation_date: sql<Date>`clock_timestamp()`,
      })
      .execute()
    for (const [projectId, role] of Object.entries(options.managedProjects ?? {})) {
      await trx.insertInto('project_members').values({ user_id: userId, project_id: projectId, role }).execute()
    }
    for (const [projectId, roles] of Object.entries(options.projectRoles ?? {})) {
      for (const role of roles) {
        await trx.insertInto('user_project_roles').values({ user_id: userId, project_id: projectId, role }).execute()
      }
    }
    for (const scope of options.customScopes ?? []) {
      await trx.insertInto('user_scopes').values({ user_id: userId, project_id: project.projectId, scope }).execute()
    }
  })
  return { userId, clientId: `${userId}@${project.name}`, project }
}

/** The functions of this module on one database. */
export type Seeds = ReturnType<typeof seedsOf>

export function seedsOf(database: Database) {
  return {
    project: (options?: Parameters<typeof seedProject>[1]) => seedProject(database, options),
    user: (options: Parameters<typeof seedUser>[1]) => seedUser(database, options),
    secret: (userId: string, options?: Parameters<typeof seedSecret>[2]) => seedSecret(database, userId, options),
    change: (write: Parameters<typeof change>[1]) => change(database, write),
  }
}

/** How the servers on a database hash client secrets. */
const secretHashes = new WeakMap<Database, (secret: string) => Uint8Array>()

/** Makes the secrets that are put into this database good for its servers. Without servers it makes no difference. */
export function hashSecretsWith(database: Database, { secrets }: Integrity): void {
  secretHashes.set(database, secrets.clientSecrets.hash)
}

/** One more client secret of a user. It lives for ever unless the options end it. */
export async function seedSecret(
  database: Database,
  userId: string,
  options: { readonly secret?: string; readonly expiresAt?: Date; readonly deactivatedAt?: Date } = {},
): Promise<SeededSecret> {
  const secretId = randomUUID()
  const secret = options.secret ?? randomBytes(32).toString('base64url')
  const hash = secretHashes.get(database)?.(secret) ?? createHash('sha256').update(secret).digest()
  const ends = [options.expiresAt, options.deactivatedAt].filter((date) => date !== undefined)
  await change(database, async (trx) => {
    await trx
      .insertInto('credentials')
      .values({
        credential_id: secretId,
        kind: 'client_secret',
        user_id: userId,
        hash,
        // No secret ended before it began.
        creation_date: new Date(Math.min(Date.now(), ...ends.map((date) => date.getTime()))),
        expiration_date: options.expiresAt ?? null,
        deactivation_date: options.deactivatedAt ?? null,
      })
      .execute()
  })
  return { secretId, secret, hash: new Uint8Array(hash) }
}

/** Makes any change of the tables one change of the instance. */
export async function change(database: Database, write: (trx: Transaction<Tables>) => Promise<void>): Promise<void> {
  await database.db.transaction().execute(async (trx) => {
    await write(trx)
    await bumpVersion(trx, database, { at: await readChangeTime(trx), users: ANY_USER })
  })
}
