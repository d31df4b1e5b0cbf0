/**
 * One request for a token, and what the client learns from it.
 */
import { NoAnswer, type Send } from './http-client.ts'
import type { TokenFailure } from './ledger.ts'
import type { Replica } from './replicas.ts'

/** A service user that can get tokens. */
export interface TokenClient {
  readonly clientId: string
  readonly clientSecret: string
  readonly scope?: string
}

/** What became of a request. `rejected`: the client was told that its secret is not good. */
export type TokenResult =
  | { readonly kind: 'issued'; readonly token: string; readonly expiresIn: number }
  | { readonly kind: 'rejected' }
  | { readonly kind: 'failed'; readonly failure: TokenFailure; readonly detail: string }

/** Asks one replica once. */
export async function askForToken(send: Send, replica: Replica, client: TokenClient): Promise<TokenResult> {
  const { clientId, clientSecret, scope } = client
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    ...(scope === undefined ? {} : { scope }),
  })
  try {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const {
      status,
      body,
      headers: answered,
    } = await send(`${replica.url}/oauth/v2/token`, {
      method: 'POST',
      headers,
      body: form.toString(),
    })
    if (status === 200) {
      const { access_token, expires_in } = JSON.parse(body) as { access_token: string; expires_in: number }
      return { kind: 'issued', token: access_token, expiresIn: expires_in }
    }
    if (status === 401) return { kind: 'rejected' }
    const patient = status === 503 && answered['retry-after'] !== undefined
    return { kind: 'failed', failure: patient ? 'unavailable' : 'wrong', detail: `${status} ${body}` }
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error
    return { kind: 'failed', failure: error.disconnection, detail: error.message }
  }
}
