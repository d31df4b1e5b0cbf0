/**
 * Makes the OAuth endpoints, with what they do in the background.
 */
import { SecretUses } from '../app/identities/secret-uses.ts'
import { TokenRevocations } from '../app/identities/token-revocations.ts'
import { verifyFederatedToken } from '../crypto/federated-token.ts'
import { openApiDocument } from '../oauth/documents/openapi.ts'
import { publishDocument } from '../oauth/documents/published-document.ts'
import { createOAuth, type OAuthRoutes } from '../oauth/routes.ts'
import { createCredentialUses } from '../storage/identities/credential-uses.ts'
import { createIdentityStore } from '../storage/identities/identity-store.ts'
import { createDpop } from './dpop.ts'
import { recording } from './recording.ts'
import type { ServicesOptions, SharedParts } from './services.ts'
import { systemClock } from './system-clock.ts'

/** The OAuth endpoints, always with the newest key ring of the replica. */
export function createTokenEndpoints(
  options: ServicesOptions,
  { introspection, keysOfIssuers: { finderOf } }: SharedParts,
): OAuthRoutes {
  const { config, log, stack, database, publicKeys, secrets, replica, rows, records, now, baseUrl } = options
  const { tracing, contexts, audit, attempts, certificates } = options
  const uses = recording(options, createCredentialUses)
  const store = rows.around(tracing.calls('IdentityStore', createIdentityStore(database, publicKeys)))
  const secretUses = new SecretUses({ store: uses, canWrite: records.isOpen, clock: systemClock, log })
  stack.defer(() => secretUses.stop())

  const { routes, switchTo } = createOAuth({
    issuer: baseUrl,
    tokenLifetimeSeconds: config.tokenLifetimeSeconds,
    assertionAudience: config.assertionAudience,
    ...(certificates === undefined ? {} : { certificates }),
    acceptsZitadelScopes: config.zitadelApi,
    now,
    directory: {
      recallServiceUser: (userId) => replica.identities.recall(userId),
      readServiceUser: (userId) => replica.identities.read(userId),
      secrets,
    },
    introspection,
    revocations: new TokenRevocations({ store, replica }),
    federation: {
      verify: (assertion, issuers) => verifyFederatedToken(assertion, { issuers, now: now(), finderOf }),
      trustedIssuers: () => replica.trustedIssuers(),
      confirm: () => replica.confirm(),
      recallUsers: (subject) => replica.identities.recallSubject(subject),
      readUsers: (subject) => replica.identities.readSubject(subject),
    },
    assertions: tracing.calls('CredentialUses', uses),
    dpop: createDpop(options),
    attempts,
    secretUses,
    audit,
    contexts,
    log,
    openApi: publishDocument(
      openApiDocument(baseUrl, { servesDeprecated: config.betaApi, servesConsole: config.console }),
    ),
    jwksMaxAgeSeconds: config.jwksMaxAgeSeconds,
    isFresh: () => replica.guard.isFresh(),
    stalenessSeconds: () => replica.guard.stalenessSeconds,
  })
  replica.onKeys(switchTo)
  return routes
}
