/**
 * What is found out about each request while it is answered: whose it is, and why it was refused.
 *
 * Kept on the request, under a name that nobody else has. A `WeakMap` would cost more than all else that is noted.
 */
import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import type { RequestContext } from '../../domain/ports.ts'
import type { AddressReader } from './client-address.ts'

/** The notes about one request. */
export interface Notes {
  /** The IP address of the client; empty if the connection was gone before anybody looked. */
  readonly address: string
  /** A client ID or a user id, proved or only claimed. */
  readonly clientId?: string
  /** A word of a fixed list. */
  readonly failure?: string
  /** What exactly was wrong, in words of the server's own. */
  readonly detail?: string
}

/** The notes while they are being taken. */
type OpenNotes = { -readonly [name in keyof Notes]: Notes[name] }

const NOTHING: Notes = { address: '' }

const NOTES = Symbol('notes')

/** A request, perhaps with notes. */
type Noted = object & { [NOTES]?: OpenNotes }

/** The notes about all requests that are being answered. */
export class RequestContexts implements RequestContext {
  readonly #addressFrom: AddressReader

  constructor(addressFrom: AddressReader) {
    this.#addressFrom = addressFrom
  }

  /** Begins with the address, which cannot be found out any more when the connection has gone. */
  begin(req: IncomingMessage): void {
    const forwardedFor = req.headers['x-forwarded-for']
    const line = Array.isArray(forwardedFor) ? forwardedFor.join() : forwardedFor
    const noted: Noted = req
    noted[NOTES] = { address: this.#addressFrom(req.socket.remoteAddress, line) }
  }

  /** What is known about a request that has begun. */
  about(request: Noted): Notes {
    return request[NOTES] ?? NOTHING
  }

  addressOf(request: Noted): string {
    return this.about(request).address
  }

  connectionOf(request: Partial<IncomingMessage & Http2ServerRequest>): object {
    return request.stream?.session ?? request.socket ?? request
  }

  identified(request: Noted, clientId: string): void {
    open(request).clientId = clientId
  }

  /** The first reason stays: what comes later is how it was told. */
  refused(request: Noted, reason: string): void {
    open(request).failure ??= reason
  }

  explained(request: Noted, detail: string): void {
    open(request).detail = detail
  }
}

function open(request: Noted): OpenNotes {
  request[NOTES] ??= { ...NOTHING }
  return request[NOTES]
}
