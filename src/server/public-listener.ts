/** The public port of the server: when it opens, drains and closes. `routing.ts` answers the requests. */
import { setTimeout as delay } from 'node:timers/promises'
import { DEFAULT_LIMITS } from '../http/connections/limits.ts'
import { type Listener, listen } from '../http/listener.ts'
import type { Handler } from '../http/requests/exchange.ts'
import { Routing, type RoutingOptions } from './routing.ts'

export interface PublicListenerOptions extends RoutingOptions {
  readonly around: (handler: Handler) => Handler
}

export class PublicListener {
  readonly #options: PublicListenerOptions
  readonly routing: Routing
  #listener: Listener | undefined
  #opening: Promise<void> | undefined

  constructor(options: PublicListenerOptions) {
    this.#options = options
    this.routing = new Routing(options)
  }

  /** Starts listening. Only the first call has an effect. @throws {Error} that says what to do. */
  open(): Promise<void> {
    this.#opening ??= this.#open()
    return this.#opening
  }

  /** The base URL that clients use, without a trailing slash. Before the port is open, it must be configured. */
  get baseUrl(): string {
    const { baseUrl, tls } = this.#options.config
    return baseUrl ?? `${tls === null ? 'http' : 'https'}://localhost:${this.#opened.port}`
  }

  /** The URL of the socket, for example `http://127.0.0.1:8080`. */
  get listenUrl(): string {
    return this.#opened.url
  }

  connections(): number {
    return this.#listener?.connections() ?? 0
  }

  /** Drains: is not ready any more, and goes on serving while clients go to other replicas. */
  async drain(milliseconds: number): Promise<void> {
    this.routing.refuseProbes()
    this.#listener?.drain()
    await delay(milliseconds)
  }

  /** Finishes requests in flight. @param grace After so many milliseconds the rest is cut off. */
  async close(grace: number): Promise<void> {
    this.routing.stop()
    await this.#opening?.catch(() => {})
    await this.#listener?.close(grace)
  }

  async #open(): Promise<void> {
    const { config, log, around } = this.#options
    const { listen: address, tls } = config
    const asksForCertificates = config.mtls.source === 'tls'
    const handler = around(this.routing.handle)
    this.#listener = await listen({ ...address, tls, asksForCertificates, limits: DEFAULT_LIMITS, log, handler })
  }

  get #opened(): Listener {
    if (this.#listener === undefined) throw new Error('the port is not open yet')
    return this.#listener
  }
}
