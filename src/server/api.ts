/**
 * Makes the services that administer the instance, and what checks the right to call them.
 */
import { randomUUID } from 'node:crypto'
import { Access } from '../app/access/access.ts'
import { Configurations } from '../app/configuration/configurations.ts'
import { Credentials } from '../app/identities/credentials.ts'
import { Projects } from '../app/identities/projects.ts'
import { ServiceUsers } from '../app/identities/service-users.ts'
import { createAccessTokenVerifier } from '../crypto/access-token-verifier.ts'
import { parseCaCertificates, parseIssuerKeys } from '../crypto/issuer-key.ts'
import { thumbprint } from '../crypto/public-key-macs.ts'
import { parseUserKeys } from '../crypto/user-key.ts'
import type { RpcRoutes } from '../rpc/protocol/rpc-route.ts'
import { createRpcRoutes } from '../rpc/routes.ts'
import { createConfigurationStore } from '../storage/configuration/configuration-store.ts'
import { createIdentityStore } from '../storage/identities/identity-store.ts'
import { createConsole } from './console.ts'
import { digest } from './digest.ts'
import { createDpop } from './dpop.ts'
import { createTrustedIssuers } from './federation.ts'
import { startInstanceOverview } from './instance.ts'
import type { ServicesOptions, SharedParts } from './services.ts'
import { systemClock } from './system-clock.ts'
import { startWebKeys } from './web-keys.ts'
import { startWebhooks } from './webhooks.ts'

/** The services that administer the instance. */
export function createApi(options: ServicesOptions, { introspection, keysOfIssuers }: SharedParts): RpcRoutes {
  const { config, log, database, publicKeys, secrets, replica, rows, now, baseUrl, tracing } = options
  const { contexts, audit, auditFeed, attempts, stopping } = options
  const store = rows.around(tracing.calls('IdentityStore', createIdentityStore(database, publicKeys)))
  const { tokenLifetimeSeconds } = config
  const newId = randomUUID
  const identities = { store, replica, newId }
  return createRpcRoutes({
    ...startWebKeys(options),
    configurations: createConfigurations(options),
    instance: startInstanceOverview(options),
    console: createConsole(options),
    projects: new Projects({ ...identities, issuer: baseUrl }),
    users: new ServiceUsers({ ...identities, tokenLifetimeSeconds }),
    credentials: new Credentials({
      ...identities,
      secrets,
      parseUserKeys,
      maxTokenLifetimeDays: config.maxPatLifetimeDays,
      clock: systemClock,
    }),
    trustedIssuers: createTrustedIssuers(options, keysOfIssuers),
    webhooks: startWebhooks(options),
    introspection,
    audit,
    auditFeed,
    access: new Access({
      replica,
      verifier: createAccessTokenVerifier({ issuer: baseUrl, audience: baseUrl, now }),
      store,
      secrets,
      attempts,
      dpop: createDpop(options),
      digest,
      now,
    }),
    assertPrimary: () => replica.assertPrimary(),
    servesDeprecated: config.betaApi,
    servesZitadel: config.zitadelApi,
    baseUrl,
    stopping,
    requestContext: contexts,
    log,
  })
}

/** What plans, applies and exports configurations. */
function createConfigurations({
  config,
  log,
  database,
  publicKeys,
  replica,
  rows,
  baseUrl,
  tracing,
}: ServicesOptions): Configurations {
  const { jwksMaxAgeSeconds, tokenLifetimeSeconds, maxStalenessSeconds, maxWebKeys } = config
  return new Configurations({
    store: rows.around(tracing.calls('ConfigurationStore', createConfigurationStore(database, publicKeys))),
    replica,
    parseUserKeys,
    parseIssuerKeys,
    parseCaCertificates,
    newId: randomUUID,
    thumbprintOf: thumbprint,
    issuer: baseUrl,
    limits: { jwksMaxAgeSeconds, tokenLifetimeSeconds, maxStalenessSeconds, maxWebKeys },
    log,
  })
}
