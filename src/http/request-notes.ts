/**
 * What is found out about each request while it is answered: whose it is, and why it was refused.
 *
 * Kept beside the request and not on it, and gone with it.
 */
import type { IncomingMessage } from 'node:http'
import type { RequestNotes } from '../domain/ports.ts'
import type { AddressReader } from './client-address.ts'

/** The notes about one request. */
export interface Notes {
  /** The IP address of the client; empty if the connection was gone before anybody looked. */
  readonly address: string
  /** A client ID or a user id, proved or only claimed. */
  readonly clientId?: string
  /** A word of a fixed list. */
  readonly failure?: string
}

/** The notes while they are being taken. */
type OpenNotes = { -readonly [name in keyof Notes]: Notes[name] }

const NOTHING: Notes = { address: '' }

/** The notes about all requests that are being answered. */
export class RequestNotebook implements RequestNotes {
  readonly #addressFrom: AddressReader
  readonly #notes = new WeakMap<object, OpenNotes>()

  constructor(addressFrom: AddressReader) {
    this.#addressFrom = addressFrom
  }

  /** Begins with the address, which cannot be found out any more when the connection has gone. */
  begin(req: IncomingMessage): void {
    const forwardedFor = req.headers['x-forwarded-for']
    const line = Array.isArray(forwardedFor) ? forwardedFor.join() : forwardedFor
    this.#notes.set(req, { address: this.#addressFrom(req.socket.remoteAddress, line) })
  }

  /** What is known about a request that has begun. */
  about(request: object): Notes {
    return this.#notes.get(request) ?? NOTHING
  }

  addressOf(request: object): string {
    return this.about(request).address
  }

  identified(request: object, clientId: string): void {
    this.#open(request).clientId = clientId
  }

  /** The first reason stays: what comes later is how it was told. */
  refused(request: object, reason: string): void {
    this.#open(request).failure ??= reason
  }

  #open(request: object): OpenNotes {
    const notes = this.#notes.get(request) ?? { ...NOTHING }
    this.#notes.set(request, notes)
    return notes
  }
}
