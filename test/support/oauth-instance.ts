/**
 * A server on a PostgreSQL of its own, and its OAuth side as clients see it: over sockets, and nothing else.
 */
import { expect } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type Keyturn, openServedDatabase, removeFolder, SERVICE_SCOPE, startKeyturnInProcess } from './keyturn.ts'
import { sharedPostgres } from './new-database.ts'
import type { SeededUser, Seeds } from './seed.ts'
import type { OpenedDatabase } from './server-host.ts'

/** A service user with a secret that works. */
export interface Robot extends SeededUser {
  readonly clientSecret: string
}

/** A running server, its database and its requests. */
export interface OAuthInstance extends OpenedDatabase {
  readonly keyturn: Keyturn
  /** Adds a service user with one secret, in a project of its own unless the options name one. */
  addRobot(options?: Partial<Parameters<Seeds['user']>[0]>): Promise<Robot>
  /** Any path below the address that the server listens on. */
  fetch(path: string, init?: RequestInit): Promise<Response>
  /** Starts another server on the same database, which issues tokens in the same name, with other settings if it is given any. */
  startReplica(env?: Readonly<Record<string, string>>): Promise<Keyturn>
  /** Sends a form to the token endpoint of a replica, the first by default; a list of pairs may repeat names. */
  postForm(
    form: Record<string, string> | [string, string][],
    headers?: Record<string, string>,
    replica?: Keyturn,
  ): Promise<Response>
  /** Asks for a token with the secret in the form. */
  requestToken(robot: Robot, scope?: string): Promise<Response>
  /** Asks for a token that must be granted. */
  accessToken(robot: Robot, scope?: string): Promise<string>
  /** Calls a method of the API, on the first replica by default, as the first administrator. */
  call<T>(method: string, request?: object, replica?: Keyturn): Promise<T>
  /** Calls the web key service as the first administrator. */
  callWebKeys<T>(method: string, request?: object): Promise<T>
  /** Ends everything. @throws {Error} if the server logged an error or did not end well. */
  stop(): Promise<void>
}

/** Starts PostgreSQL and a server. Stop it in `afterAll`. */
export async function startOAuthInstance(env: Readonly<Record<string, string>> = {}): Promise<OAuthInstance> {
  const postgres = sharedPostgres()
  try {
    const url = await postgres.createMigratedDatabase()
    const masterKeys = env.KEYTURN_MASTER_KEYS ?? generateMasterKey()
    const settings = { KEYTURN_DATABASE_URL: url, ...env, KEYTURN_MASTER_KEYS: masterKeys }
    const keyturn = await startKeyturnInProcess({ env: settings })
    const opened = await openServedDatabase(url, masterKeys)
    const replicas = [keyturn]
    const startReplica = async (other: Readonly<Record<string, string>> = {}) => {
      const replica = await startKeyturnInProcess({ env: { ...settings, ...other, KEYTURN_BASE_URL: keyturn.baseUrl } })
      replicas.push(replica)
      return replica
    }
    return connect({ keyturn, ...opened, startReplica }, async () => {
      await opened.database.close()
      await Promise.all(replicas.map((replica) => replica.stop()))
      await Promise.all(replicas.map(({ dataDir }) => removeFolder(dataDir)))
      await postgres.stop()
      const stderr = replicas.map((replica) => replica.output().stderr).join('')
      if (stderr.includes('"level":"error"')) throw new Error(`a request made the server fail:\n${stderr}`)
    })
  } catch (error) {
    await postgres.stop()
    throw error
  }
}

function connect(
  running: OpenedDatabase & Pick<OAuthInstance, 'keyturn' | 'startReplica'>,
  stop: () => Promise<void>,
): OAuthInstance {
  const { keyturn, seed } = running
  const instance: OAuthInstance = {
    ...running,
    stop,

    addRobot: async (options = {}) => {
      const user = await seed.user({ ...options, project: options.project ?? (await seed.project()) })
      const { secret } = await seed.secret(user.userId)
      return { ...user, clientSecret: secret }
    },

    fetch: (path, init) => fetch(keyturn.listenUrl + path, init),

    postForm: (form, headers = {}, replica = keyturn) =>
      fetch(`${replica.listenUrl}/oauth/v2/token`, { method: 'POST', body: new URLSearchParams(form), headers }),

    requestToken: (robot, scope) => instance.postForm({ ...formOf(robot), ...(scope === undefined ? {} : { scope }) }),

    accessToken: async (robot, scope) => accessTokenOf(await instance.requestToken(robot, scope)),

    call: async (method, request = {}, replica = keyturn) => {
      const { client_id, client_secret } = await keyturn.admin()
      const grant = { grant_type: 'client_credentials', scope: SERVICE_SCOPE }
      const token = await accessTokenOf(await instance.postForm({ ...grant, client_id, client_secret }))
      const response = await fetch(`${replica.listenUrl}/${method}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(request),
      })
      if (!response.ok) throw new Error(`${method} answered ${response.status}: ${await response.text()}`)
      return (await response.json()) as never
    },

    callWebKeys: (method, request) => instance.call(`iam.webkey.v2beta.WebKeyService/${method}`, request),
  }
  return instance
}

/** The fields of a token request without a scope. */
export function formOf({ clientId, clientSecret }: Robot) {
  return { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
}

/** Credentials as RFC 6749 §2.3.1 puts them into HTTP Basic. */
export function basicCredentials(clientId: string, clientSecret: string): string {
  return `Basic ${btoa(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`)}`
}

/** What a client sees of an answer of the token endpoint. */
export async function seen(response: Response) {
  const { status, headers } = response
  const text = await response.text()
  return {
    status,
    contentType: headers.get('content-type'),
    cacheControl: headers.get('cache-control'),
    pragma: headers.get('pragma'),
    body: text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : text,
  }
}

/** What a client must see of a refusal (RFC 6749 §5.2). */
export function refusal(status: number, error: string) {
  return {
    status,
    contentType: expect.stringMatching(/^application\/json\b/),
    cacheControl: 'no-store',
    pragma: 'no-cache',
    body: expect.objectContaining({ error, error_description: expect.any(String) }),
  }
}

async function accessTokenOf(response: Response): Promise<string> {
  if (!response.ok) throw new Error(`the token endpoint answered ${response.status}: ${await response.text()}`)
  const { access_token } = (await response.json()) as { access_token: string }
  return access_token
}
