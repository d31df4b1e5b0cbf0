/**
 * What all token issuers under test have in common. Each is a process of its own.
 */

/** A signing algorithm that is measured. */
export type Algorithm = 'RS256' | 'ES256' | 'EdDSA'

/** All of them, the default of Keyturn first. */
export const ALGORITHMS: readonly Algorithm[] = ['RS256', 'ES256', 'EdDSA']

/** A client of an issuer. */
export interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
}

/** A running issuer of tokens. */
export interface Contender {
  readonly name: string
  /** Its processes, whose CPU time and memory count. */
  readonly pids: readonly number[]
  readonly url: string
  readonly tokenUrl: string
  readonly keySetUrl: string
  readonly issuer: string
  readonly clients: readonly Credentials[]
}

/** Asked for by every client: what a token for the API of the issuer itself takes. */
export const SCOPE = 'openid urn:service:iam:org:project:id:service:aud'

/** How many clients take turns unless a scenario is about their number. */
export const USUAL_CLIENTS = 10
