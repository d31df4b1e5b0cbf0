/** The tables as Kysely sees them; `migrations/` has their SQL. */
import type { AuditTables } from './tables/audit.ts'
import type { ConsoleTables } from './tables/console.ts'
import type { CredentialTables } from './tables/credentials.ts'
import type { FederationTables } from './tables/federation.ts'
import type { IdentityTables } from './tables/identities.ts'
import type { InstanceTables } from './tables/instance.ts'
import type { KeyTables } from './tables/keys.ts'
import type { WebhookTables } from './tables/webhooks.ts'

export interface Tables
  extends InstanceTables,
    KeyTables,
    IdentityTables,
    CredentialTables,
    FederationTables,
    ConsoleTables,
    AuditTables,
    WebhookTables {}
