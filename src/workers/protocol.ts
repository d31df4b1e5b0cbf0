/**
 * What the primary process and its workers say to each other. Nothing in it is secret: settings and secrets reach a
 * worker the way they reached the primary, by the command line and the environment.
 */
import type { MetricFamilies } from '../telemetry/metrics/metrics.ts'

/** From the primary to a worker. */
export type Order =
  /**
   * The first one, once. `port` goes before the configured one. `baseUrl` is that of the server if other workers serve the
   * port: then it must not be opened before there is something to serve, or this worker would turn clients away.
   * `socketFolder` is that of the embedded database, which the primary has started; null if another one is configured.
   */
  | {
      readonly kind: 'start'
      readonly port: number
      readonly baseUrl: string | null
      readonly socketFolder: string | null
    }
  /** Nobody else serves the port any more, so it has to be open although there is nothing to serve yet. */
  | { readonly kind: 'open'; readonly port: number }
  | { readonly kind: 'stop'; readonly drains: boolean }
  /** To be answered with `metrics`. */
  | { readonly kind: 'measure' }

/** From a worker to the primary. */
export type Report =
  | { readonly kind: 'ready'; readonly server: ServerFacts }
  /** It could not start. The process ends after this. */
  | { readonly kind: 'failed'; readonly failure: Failure }
  /** Null: they could not be read this time. */
  | { readonly kind: 'metrics'; readonly families: MetricFamilies | null }

/** What the primary tells the operator about the server. */
export interface ServerFacts {
  readonly listenUrl: string
  readonly baseUrl: string
  readonly initialised: boolean
}

/** Why a worker did not start, for the operator. */
export interface Failure {
  readonly message: string
  /** The mistakes of the configuration, if that is why. */
  readonly problems: readonly string[] | null
}
