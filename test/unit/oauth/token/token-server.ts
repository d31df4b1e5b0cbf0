/**
 * The token endpoint on a port of its own, with or without users in memory, and what it recorded about each request.
 */
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { AttemptLimiter } from '../../../../src/app/access/attempt-limiter.ts'
import type { KeySnapshot } from '../../../../src/app/replica/replica-memory.ts'
import type { ServiceUser } from '../../../../src/domain/identities/service-user.ts'
import type { Secrets } from '../../../../src/domain/integrity.ts'
import { DEFAULT_LIMITS } from '../../../../src/http/connections/limits.ts'
import { listen } from '../../../../src/http/listener.ts'
import { createAddressReader } from '../../../../src/http/requests/client-address.ts'
import { RequestContexts } from '../../../../src/http/requests/request-context.ts'
import { type Answered, createRouter, notFound } from '../../../../src/http/requests/router.ts'
import type { CertificateReader } from '../../../../src/http/tls/client-certificates.ts'
import { publishDocument } from '../../../../src/oauth/documents/jwks.ts'
import { OAUTH_PATHS } from '../../../../src/oauth/requests/endpoints.ts'
import { createOAuth } from '../../../../src/oauth/routes.ts'
import { dpopFor } from '../../../support/dpop.ts'
import { createRecordingLog } from '../../../support/log.ts'
import { NO_FEDERATION } from '../../../support/no-federation.ts'
import type { TokenRequestCase } from './token-requests.ts'

/** What there is to serve. */
export interface TokenServerOptions {
  readonly issuer: string
  readonly keys: KeySnapshot
  readonly users: ReadonlyMap<string, ServiceUser>
  readonly secrets: Secrets
  readonly now: () => Date
  /** Where users are found; or that oidc-provider answers all requests. */
  readonly answers: 'from memory' | 'from the database' | 'by the provider'
  /** From one address. */
  readonly maxFailures?: number
}

/** An answer as it came over the wire. */
export interface Received {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/** Of the certificate of every connection. */
export const THUMBPRINT = 'the thumbprint'

/** Every connection has a certificate, unless the request says otherwise. */
const certificateOf: CertificateReader =
  ({ headers }) =>
  () => {
    switch (headers['x-certificate']) {
      case undefined:
        return { kind: 'presented', thumbprint: THUMBPRINT, chain: [] }
      case 'none':
        return { kind: 'none' }
      default:
        return { kind: 'unreadable', reason: 'it is not valid' }
    }
  }

/** Starts one. Stop it in the end. */
export async function startTokenServer(options: TokenServerOptions) {
  const { issuer, keys, users, secrets, now, answers, maxFailures = 1e6 } = options
  const log = createRecordingLog()
  const contexts = new RequestContexts(createAddressReader([]), certificateOf)
  const used: string[] = []
  const failed: string[] = []
  const audited: string[] = []
  const answered: Pick<Answered, 'status' | 'clientId' | 'failure'>[] = []
  let lookUps = 0
  let failure: Error | undefined
  let held: Promise<void> | undefined
  class Attempts extends AttemptLimiter {
    override fail(attempt: Parameters<AttemptLimiter['fail']>[0]): void {
      failed.push(attempt.name)
      super.fail(attempt)
    }
  }
  const attempts = new Attempts({
    clock: { monotonic: () => 0 },
    maxPerName: maxFailures,
    maxPerAddress: maxFailures,
  })
  const { routes, switchTo } = createOAuth({
    issuer,
    tokenLifetimeSeconds: 600,
    assertionAudience: 'issuer',
    acceptsZitadelScopes: false,
    now,
    replica: {
      trustedIssuers: () => [],
      confirm: async () => {},
      identities: {
        recall: (userId) => (answers === 'from memory' ? users.get(userId) : undefined),
        read: async (userId) => {
          lookUps += 1
          await held
          if (failure !== undefined) throw failure
          return users.get(userId)
        },
        recallSubject: () => undefined,
        readSubject: async () => [],
      },
    },
    clientSecrets: secrets,
    introspection: { introspect: async () => undefined },
    revocations: { revoke: async () => {} },
    federation: NO_FEDERATION,
    assertions: { useAssertionOnce: async () => true },
    dpop: dpopFor(issuer, now),
    certificates: {
      trustsAuthorities: true,
      verify: ({ thumbprint }) => ({ thumbprint, isUsable: true, names: null, problem: null }),
    },
    attempts,
    audit: {
      refuse: (entry, outcome) => audited.push(`${entry.actor} ${entry.resource} ${entry.clientAddress} ${outcome}`),
    },
    secretUses: { note: (secretId, at) => used.push(`${secretId} ${at.toISOString()}`) },
    contexts,
    log,
    openApi: publishDocument({}),
    jwksMaxAgeSeconds: 300,
    isFresh: () => true,
    stalenessSeconds: () => 0,
    ...(answers === 'by the provider' ? { isPlain: () => false } : {}),
  })
  switchTo(keys)
  const handler = createRouter({
    routes: new Map([[OAUTH_PATHS.token, { methods: { POST: routes.token }, cors: null, sendsHeaders: true }]]),
    fallback: notFound,
    maxBodyBytes: DEFAULT_LIMITS.maxBodyBytes,
    log,
    contexts,
    onAnswered: ({ status, clientId, failure }) =>
      answered.push({
        status,
        ...(clientId === undefined ? {} : { clientId }),
        ...(failure === undefined ? {} : { failure }),
      }),
  })
  const listener = await listen({ host: '127.0.0.1', port: 0, tls: null, limits: DEFAULT_LIMITS, log, handler })
  return {
    url: listener.url,
    port: listener.port,
    attempts,
    log,
    /** What was recorded about all requests. */
    record: () => ({ used: [...used], failed: [...failed], audited: [...audited], answered: [...answered] }),
    /** How often a user has been read. */
    lookUps: () => lookUps,
    /** Delays reads of users until the returned function is called. */
    holdLookUps: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return resolve
    },
    /** Makes reads of users fail from now on; undefined: succeed. */
    failWith: (error: Error | undefined) => {
      failure = error
    },
    /** Serves another key ring from now on. */
    switchTo,
    stop: () => listener.close(1000),
  }
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** Sends a request over HTTP/1.1. */
export function post(url: string, { headers = {}, body, chunked = false }: TokenRequestCase): Promise<Received> {
  return new Promise((resolve, reject) => {
    const length = chunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(Buffer.byteLength(body)) }
    const outgoing = request(url + OAUTH_PATHS.token, { method: 'POST', headers: { ...FORM, ...length, ...headers } })
    outgoing.once('error', reject).once('response', (response) => {
      text(response).then(
        (received) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: received }),
        reject,
      )
    })
    outgoing.end(body)
  })
}
