/** What the use cases and the protocols need of the process and of the request that they serve. */
import type { PresentedCertificate, TokenBinding } from '../identities/token-binding.ts'

/** By what a token request was authenticated, and to what its token is bound. */
export interface GrantFacts {
  readonly credential: 'client_secret' | 'private_key_jwt' | 'federated_jwt' | 'client_certificate'
  readonly binding: 'none' | TokenBinding['kind']
}

/** The context of a request for its log line, its span and the metrics. `request` is the request object of the public listener. */
export interface RequestContext {
  /** The IP address of the client, also behind a trusted proxy; empty if it is not known. */
  addressOf(request: object): string
  /** The certificate of the client, also behind a trusted proxy, if the operator wants certificates to count. */
  certificateOf(request: object): PresentedCertificate
  /**
   * Who makes the request, proved or only claimed: the client ID at the token endpoint, the user id at the API. A text without
   * the form of one must not be given, because it could be a secret in the wrong field.
   */
  identified(request: object, clientId: string): void
  /** It gets a token. */
  granted(request: object, facts: GrantFacts): void
  /** Why it was refused: a word of a fixed list, such as an OAuth error code or the reason of an RPC error. */
  refused(request: object, reason: string): void
  /** What exactly was wrong, in words of the server's own. For the log only. */
  explained(request: object, detail: string): void
}

/** Whether a replica can serve, with warnings for its operator; if not, why. */
export type Readiness =
  | {
      readonly ready: true
      readonly warnings: readonly string[]
      /** Given if the database is a standby: how old what it has is at most. */
      readonly standby?: { readonly stalenessSeconds: number }
    }
  | { readonly ready: false; readonly reason: string }

/** The log of the operator. It must never get a secret. */
export interface Log {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}
