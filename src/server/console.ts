/** Makes the parts of the console. */
import { hash, randomUUID as newId } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AttemptLimiter } from '../app/access/attempt-limiter.ts'
import type { AuditTrail } from '../app/audit/audit-trail.ts'
import { createConsoleSessions } from '../app/console/console-sessions.ts'
import { createPeople } from '../app/console/people.ts'
import { createSessionAccess } from '../app/console/session-access.ts'
import type { Config } from '../config/config.ts'
import { CALLBACK_PATH } from '../domain/console/sign-ins.ts'
import type { OpenIdProvider } from '../domain/ports/console.ts'
import type { IdentityStore } from '../domain/ports/identities.ts'
import { CONSOLE_HEADERS, consolePageRoutes, readBuiltConsole } from '../http/console/console-page.ts'
import type { Route } from '../http/requests/router.ts'
import type { ConsoleRpc } from '../rpc/routes.ts'
import { createConsoleStore } from '../storage/console/console-store.ts'
import type { StartedInstance, StartParts } from './instance-start.ts'
import { systemClock as clock, digest, systemTime as now } from './system-clock.ts'

/** Where the build puts the console: the same folder for a checkout and for the package. */
const BUILT = join(import.meta.dirname, '../../dist/console')

interface ConsoleParts extends StartedInstance, StartParts {
  readonly users: IdentityStore
  readonly attempts: AttemptLimiter
  readonly audit: AuditTrail
  readonly openIdProvider: OpenIdProvider | null
}

/** The sessions of the console; null if it is switched off. */
export function createConsole(parts: ConsoleParts): ConsoleRpc | null {
  const { config, database, integrity, replica, aroundRows, tracing } = parts
  const { users, attempts, audit, openIdProvider: provider } = parts
  if (!config.console) return null
  const { secrets, publicKeys } = integrity
  const store = aroundRows(tracing.calls('ConsoleStore', createConsoleStore(database, publicKeys)))
  const shared = { store, users, secrets, replica, attempts, digest, now }
  const sessions = createConsoleSessions({ ...shared, audit, clock, newId })
  const people = createPeople({ store: users, replica, sessions, audit, rules: config.openId?.roles ?? [], idOf })
  return {
    sessions,
    access: createSessionAccess({ ...shared, secrets: secrets.sessionCookies }),
    openId: provider === null ? null : { provider, people, attempts, digest },
    headers: CONSOLE_HEADERS,
    tokenLifetimeSeconds: config.tokenLifetimeSeconds,
  }
}

/**
 * The client of the OpenID provider; null if none is configured.
 * @throws {Error} that names the file with the client's secret if it cannot be read or is empty.
 */
export async function createPeopleProvider(
  { console, openId }: Config,
  baseUrl: string,
): Promise<OpenIdProvider | null> {
  if (!console || openId === null) return null
  const { clientSecretFile } = openId
  const clientSecret = clientSecretFile === null ? null : await readOpenIdSecret(clientSecretFile)
  // Loaded only where it is used.
  const { createOpenIdProvider } = await import('../openid/openid-provider.ts')
  return createOpenIdProvider({ ...openId, clientSecret, redirectUri: baseUrl + CALLBACK_PATH })
}

/** @throws {Error} that names the file and the setting. */
export async function readOpenIdSecret(file: string): Promise<string> {
  const place = `the secret of the OpenID client in ${file} (KEYTURN_OPENID_CLIENT_SECRET_FILE)`
  const secret = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${place} cannot be read: ${error.code ?? error.message}`)
  })
  if (secret.trim() === '') throw new Error(`${place} is empty`)
  return secret.trim()
}

/** A UUID that stands for these texts (RFC 9562 §5.8). */
function idOf(...texts: readonly string[]): string {
  const bytes = hash('sha256', JSON.stringify(['keyturn people', ...texts]), 'buffer').subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

export async function createConsolePage({ console }: Pick<Config, 'console'>): Promise<[string, Route][]> {
  return console ? consolePageRoutes(await readBuiltConsole(BUILT)) : []
}
