/**
 * Projects, and service users with what they may do.
 */
import type { ColumnType, Generated } from 'kysely'

export interface IdentityTables {
  projects: ProjectTable
  project_roles: ProjectRoleTable
  project_scopes: ProjectScopeTable
  project_audiences: ProjectAudienceTable
  service_users: ServiceUserTable
  instance_members: InstanceMemberTable
  project_members: ProjectMemberTable
  user_project_roles: UserProjectRoleTable
  user_scopes: UserScopeTable
}

export interface ProjectTable {
  project_id: string
  name: string
  roles_claim: Generated<boolean>
  creation_date: ColumnType<Date, Date, never>
  /** Of the configuration that it belongs to. Null: of none. */
  configuration_label: ColumnType<string | null, string | null | undefined>
}

interface ProjectRoleTable {
  project_id: string
  role: string
}

interface ProjectScopeTable {
  project_id: string
  scope: string
}

interface ProjectAudienceTable {
  project_id: string
  audience: string
}

export interface ServiceUserTable {
  user_id: string
  project_id: string
  name: string
  enabled: boolean
  client_credentials_enabled: boolean
  bound_tokens_required: ColumnType<boolean, boolean | undefined>
  certificate_bound_tokens: ColumnType<boolean, boolean | undefined>
  creation_date: Date
  /** In seconds. Null: as the instance has it. */
  token_lifetime: ColumnType<number | null, number | null | undefined>
  /** Written as JSON text, read parsed. Null: none. */
  token_claims: ColumnType<unknown, string | null | undefined>
  /** Null: no token has been revoked in this way. */
  token_revocation_date: ColumnType<Date | null, Date | null | undefined>
  /** Of the configuration that it belongs to. Null: of none. */
  configuration_label: ColumnType<string | null, string | null | undefined>
}

export interface InstanceMemberTable {
  user_id: string
  role: string
}

export interface ProjectMemberTable {
  user_id: string
  project_id: string
  role: string
}

interface UserProjectRoleTable {
  user_id: string
  project_id: string
  role: string
}

interface UserScopeTable {
  user_id: string
  project_id: string
  scope: string
}
