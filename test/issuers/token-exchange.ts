/**
 * Token requests with JWTs of other issuers.
 */
import { decodeJwt, type JWTPayload } from 'jose'
import type { Keyturn } from '../support/keyturn.ts'

/** What comes of a request: the claims of the access token, or why there is none. */
export type Exchanged =
  | { readonly status: 200; readonly claims: JWTPayload }
  | { readonly status: number; readonly error: unknown }

/** Asks for a token with a JWT, and with a client id if there is one. */
export async function exchange(
  server: Pick<Keyturn, 'listenUrl'>,
  {
    jwt,
    type = 'jwt-bearer',
    clientId,
  }: { jwt: string; type?: 'jwt-bearer' | 'jwt-spiffe'; clientId?: string | undefined },
): Promise<Exchanged> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_assertion_type: `urn:ietf:params:oauth:client-assertion-type:${type}`,
    client_assertion: jwt,
    ...(clientId === undefined ? {} : { client_id: clientId }),
  })
  const response = await fetch(`${server.listenUrl}/oauth/v2/token`, { method: 'POST', body })
  const answer = (await response.json()) as { access_token?: string; error?: unknown }
  if (response.status === 200) return { status: 200, claims: decodeJwt(String(answer.access_token)) }
  return { status: response.status, error: answer.error }
}
