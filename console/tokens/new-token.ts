/**
 * Requests an access token for a service user, with a client secret that is made for that and deleted at once, so that no secret has to be
 * pasted into the page.
 */
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import { serviceUsers } from '../api/clients.ts'
import { now } from '../live/clock.ts'

const TOKEN_ENDPOINT = '/oauth/v2/token'

/** How long the secret works if it cannot be deleted, in milliseconds. */
const SECRET_LIFETIME = 60_000

interface TokenRequest {
  readonly userId: string
  /** Separated by spaces. */
  readonly scope: string
}

/** @throws {ConnectError} with the words of the API or of the token endpoint. */
export async function requestToken({ userId, scope }: TokenRequest): Promise<string> {
  const expirationDate = timestampFromMs(now.value + SECRET_LIFETIME)
  const generated = await serviceUsers.generateClientSecret({ userId, expirationDate })
  try {
    return await requestWith(generated, scope)
  } finally {
    const secretId = generated.secret?.secretId ?? ''
    // It works for a minute at most, so that the token is not lost with a failure here.
    await serviceUsers.deleteClientSecret({ userId, secretId }).catch(() => undefined)
  }
}

interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
}

async function requestWith({ clientId, clientSecret }: Credentials, scope: string): Promise<string> {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret, scope }
  const response = await fetch(TOKEN_ENDPOINT, { method: 'POST', body: new URLSearchParams(form), cache: 'no-store' })
  const body = (await response.json()) as Readonly<Record<string, unknown>>
  if (typeof body.access_token === 'string') return body.access_token
  throw new ConnectError(
    `the token endpoint refused: ${String(body.error_description ?? body.message ?? response.status)}`,
    Code.FailedPrecondition,
  )
}
