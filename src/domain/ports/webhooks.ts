/** Webhooks in the database, and the signatures of their messages. `storage/` and `crypto/` implement these. */
import type { AuditEntry } from '../audit.ts'
import type { Delivery } from '../events/delivery.ts'
import type { Webhook } from '../events/webhook.ts'
import type { ChangeEntry } from '../identities/authority.ts'
import type { ChangeMoment } from '../time.ts'

/** The webhooks in the database. Every method throws {DomainError} `storage_unavailable`, and `change` what `KeyStore.update` does. */
export interface WebhookStore {
  /**
   * Decides about all webhooks and stores the difference as one step, like `KeyStore.update`, with `entry` as an audit event. Of their
   * delivery it stores only that of a webhook that is new or changed; otherwise a delivery is no part of it.
   */
  change<T>(
    entry: ChangeEntry,
    decide: (webhooks: readonly Webhook[], moment: ChangeMoment) => WebhooksChange<T>,
  ): Promise<T>
  /** Ordered by name. */
  list(): Promise<readonly Webhook[]>
  /** Decides about the delivery of a webhook and stores the outcome, while no other process does. @returns Undefined if there is no such webhook. */
  claim(webhookId: string, decide: (webhook: Webhook) => Delivery): Promise<Webhook | undefined>
  /**
   * Stores how delivery goes.
   *
   * @param change With an event about it, which is written in the same transaction.
   * @returns Whether it did: not if the lease of this id is not held any more.
   */
  record(webhookId: string, lease: string, change: DeliveryRecord): Promise<boolean>
}

/** The next webhooks. The same list as before: nothing changes. */
export interface WebhooksChange<T> {
  readonly next: readonly Webhook[]
  readonly result: T
}

/** How delivery goes on. Null as event: there is none. `expired` is not stored: retention counts it. */
export interface DeliveryRecord {
  readonly delivery: Delivery
  readonly event: { readonly entry: AuditEntry; readonly outcome: string } | null
}

/** Makes signing secrets, and signs with them (Standard Webhooks). */
export interface WebhookSigner {
  /** A new secret, `whsec_…`, and its sealed form for that webhook. */
  generateSecret(webhookId: string): Promise<{ readonly secret: string; readonly sealed: string }>
  /**
   * The headers that a message is sent with.
   *
   * @param sealed The secrets of a webhook that sign.
   * @throws {Error} that names the master key if a secret cannot be opened, with nothing of a key in it.
   */
  headersFor(
    message: { readonly id: string; readonly at: Date; readonly body: string },
    { webhookId, sealed }: { readonly webhookId: string; readonly sealed: readonly string[] },
  ): Promise<Readonly<Record<string, string>>>
}
