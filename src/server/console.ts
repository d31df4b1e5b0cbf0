/**
 * Makes the parts of the console, and of what it shows about the instance.
 */
import { hash, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { ConsoleSessions } from '../app/console/console-sessions.ts'
import { SessionAccess } from '../app/console/session-access.ts'
import { InstanceOverview } from '../app/instance/instance-overview.ts'
import type { Config } from '../config/config.ts'
import { describeConfig } from '../config/describe-config.ts'
import { readVersion } from '../config/version.ts'
import { createKeyResealer } from '../crypto/resealer.ts'
import { CONSOLE_HEADERS } from '../http/console/console-headers.ts'
import { consolePageRoutes, readBuiltConsole } from '../http/console/console-page.ts'
import type { Route } from '../http/requests/router.ts'
import type { ConsoleRpc } from '../rpc/routes.ts'
import { createConsoleStore } from '../storage/console/console-store.ts'
import { createIdentityStore } from '../storage/identities/identity-store.ts'
import { createSealedKeyStore } from '../storage/keys/sealed-key-store.ts'
import { readServerVersion } from '../storage/postgres/server-version.ts'
import type { ServicesOptions } from './services.ts'
import { systemClock } from './system-clock.ts'

/** Where the build puts the console: the same folder for a checkout and for the package. */
const BUILT = join(import.meta.dirname, '../../dist/console')

/** The sessions of the console; null if it is switched off. */
export function createConsole(options: ServicesOptions): ConsoleRpc | null {
  const {
    config,
    database,
    publicKeys,
    consoleSecrets: secrets,
    replica,
    attempts,
    audit,
    rows,
    now,
    tracing,
  } = options
  if (!config.console) return null
  const store = rows.around(tracing.calls('ConsoleStore', createConsoleStore(database, secrets)))
  const users = rows.around(tracing.calls('IdentityStore', createIdentityStore(database, publicKeys)))
  const digest = (text: string) => hash('sha256', text, 'base64url')
  const shared = { store, secrets, replica, attempts, digest, now }
  return {
    sessions: new ConsoleSessions({ ...shared, audit, clock: systemClock, newId: randomUUID }),
    access: new SessionAccess({ ...shared, users }),
    headers: CONSOLE_HEADERS,
  }
}

/** The routes of the page; none if the console is switched off. */
export async function createConsolePage({ console }: Pick<Config, 'console'>): Promise<[string, Route][]> {
  return console ? consolePageRoutes(await readBuiltConsole(BUILT)) : []
}

/** What the instance is made of. */
export function createInstanceOverview(options: ServicesOptions): InstanceOverview {
  const { config, database, masterKeys, replica, readiness, clockOffsetSeconds, rows, now, baseUrl } = options
  return new InstanceOverview({
    issuer: baseUrl,
    replica,
    readiness,
    clockOffsetSeconds,
    readServerVersion: () => readServerVersion(database),
    sealedKeys: rows.around(createSealedKeyStore(database)),
    masterKeys: createKeyResealer(masterKeys),
    settings: describeConfig(config),
    keyturnVersion: readVersion(),
    startedAt: now(),
    now,
  })
}
