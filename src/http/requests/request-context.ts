/**
 * The context of each request while it is answered: the client's address and certificate, who makes the request and why it is refused.
 *
 * Kept in a symbol property of the request, which costs less than a `WeakMap` or `AsyncLocalStorage`.
 */
import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import type { PresentedCertificate } from '../../domain/identities/token-binding.ts'
import type { GrantFacts, RequestContext } from '../../domain/ports/runtime.ts'
import { type CertificateReader, noCertificates } from '../tls/client-certificates.ts'
import type { AddressReader } from './client-address.ts'

export interface RequestFacts {
  /** The IP address of the client; empty if the connection was closed before the request began. */
  readonly address: string
  /** A client ID or a user id, proved or only claimed. */
  readonly clientId?: string
  /** A word of a fixed list. */
  readonly failure?: string
  /** What exactly was wrong, in the server's own words. */
  readonly detail?: string
  /** Of a request that got a token. */
  readonly grant?: GrantFacts
}

type MutableFacts = { -readonly [name in keyof RequestFacts]: RequestFacts[name] }

const NO_FACTS: RequestFacts = { address: '' }

const FACTS = Symbol('facts')
const CERTIFICATE = Symbol('certificate')

type Request = object & { [FACTS]?: MutableFacts; [CERTIFICATE]?: () => PresentedCertificate }

const NOT_BEGUN: PresentedCertificate = { kind: 'unreadable', reason: 'its request has not begun' }

export class RequestContexts implements RequestContext {
  readonly #addressFrom: AddressReader
  readonly #certificateFrom: CertificateReader

  /** @param certificateFrom Default: certificates mean nothing. */
  constructor(addressFrom: AddressReader, certificateFrom: CertificateReader = noCertificates) {
    this.#addressFrom = addressFrom
    this.#certificateFrom = certificateFrom
  }

  /** Reads what is unknown once the connection is closed. */
  begin(req: IncomingMessage): void {
    const forwardedFor = req.headers['x-forwarded-for']
    const line = Array.isArray(forwardedFor) ? forwardedFor.join() : forwardedFor
    const request: Request = req
    request[FACTS] = { address: this.#addressFrom(peerAddressOf(req), line) }
    request[CERTIFICATE] = this.#certificateFrom(req)
  }

  about(request: Request): RequestFacts {
    return request[FACTS] ?? NO_FACTS
  }

  addressOf(request: Request): string {
    return this.about(request).address
  }

  certificateOf(request: Request): PresentedCertificate {
    return request[CERTIFICATE]?.() ?? NOT_BEGUN
  }

  identified(request: Request, clientId: string): void {
    factsOf(request).clientId = clientId
  }

  granted(request: Request, facts: GrantFacts): void {
    factsOf(request).grant = facts
  }

  /** The first reason stays: a later one is a consequence. */
  refused(request: Request, reason: string): void {
    factsOf(request).failure ??= reason
  }

  explained(request: Request, detail: string): void {
    factsOf(request).detail = detail
  }
}

function factsOf(request: Request): MutableFacts {
  request[FACTS] ??= { ...NO_FACTS }
  return request[FACTS]
}

/**
 * The address of the connection; undefined once it is closed. `socket` of an HTTP/2 request would create a Proxy for each request; that of
 * its session is created once.
 */
export function peerAddressOf(req: IncomingMessage | Http2ServerRequest): string | undefined {
  if (!('stream' in req)) return req.socket.remoteAddress
  const { session } = req.stream
  return session === undefined || session.destroyed ? undefined : session.socket.remoteAddress
}
