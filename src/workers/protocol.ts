/**
 * The messages between the primary process and its workers. They have no secrets: a worker reads its settings from the command
 * line and the environment, like the primary.
 */
import type { MetricFamilies } from '../telemetry/metrics/metrics.ts'

/** From the primary to a worker. */
export type Command =
  /**
   * The first one, once. `port` overrides the configured one. `baseUrl` is that of the server if other workers serve the
   * port: then this worker opens it when it is ready, because it would refuse requests before. `socketFolder` is that of the
   * embedded database, which the primary has started; null if another one is configured.
   */
  | {
      readonly kind: 'start'
      readonly port: number
      readonly baseUrl: string | null
      readonly socketFolder: string | null
    }
  /** No other worker serves the port: open it before the worker is ready. */
  | { readonly kind: 'open'; readonly port: number }
  | { readonly kind: 'stop'; readonly drains: boolean }
  /** Answered with `metrics`. */
  | { readonly kind: 'measure' }

/** From a worker to the primary. */
export type Report =
  | { readonly kind: 'ready'; readonly server: ServerFacts }
  /** The start failed. The process exits. */
  | { readonly kind: 'failed'; readonly failure: Failure }
  /** Null: they could not be read. */
  | { readonly kind: 'metrics'; readonly families: MetricFamilies | null }

/** What the primary announces about the server. */
export interface ServerFacts {
  readonly listenUrl: string
  readonly baseUrl: string
  readonly initialised: boolean
}

/** Why a worker did not start. */
export interface Failure {
  readonly message: string
  /** The mistakes in the configuration, if they are the reason. */
  readonly problems: readonly string[] | null
}
