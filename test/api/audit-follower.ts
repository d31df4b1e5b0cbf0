/**
 * A client of `FollowAuditEvents` that keeps what it gets.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { type Client, ConnectError } from '@connectrpc/connect'
import type { AuditService, FollowAuditEventsRequestSchema } from '../../gen/iam/audit/v2/audit_service_pb.js'

type Request = MessageInitShape<typeof FollowAuditEventsRequestSchema>

export class AuditFollower {
  /** The ids of the events, as they came. */
  readonly events: string[] = []
  /** What was done, as it came. */
  readonly actions: string[] = []
  /** Where to go on. */
  position = ''
  responses = 0
  /** Resolves when the first response has come, or the stream has ended without one. */
  readonly begun: Promise<void>
  /** Resolves with the error that ended the stream; undefined if it ended without one. */
  readonly ended: Promise<ConnectError | undefined>
  readonly #stopping = new AbortController()
  readonly #beginning = Promise.withResolvers<void>()

  constructor(client: Client<typeof AuditService>, request: Request = {}) {
    this.begun = this.#beginning.promise
    this.ended = this.#read(client, request).finally(this.#beginning.resolve)
  }

  /** Ends the stream. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.ended
  }

  async #read(client: Client<typeof AuditService>, request: Request): Promise<ConnectError | undefined> {
    try {
      for await (const { events, position } of client.followAuditEvents(request, { signal: this.#stopping.signal })) {
        this.responses += 1
        this.events.push(...events.map(({ event }) => event?.eventId ?? ''))
        this.actions.push(...events.map(({ event }) => event?.action.replace(/.*\//, '') ?? ''))
        this.position = position
        this.#beginning.resolve()
      }
    } catch (error) {
      return ConnectError.from(error)
    }
    return undefined
  }
}
