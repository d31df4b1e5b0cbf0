/**
 * The issuer of the instance: the base URL that all replicas issue tokens under. It is stored at the first start, and a server
 * with another one does not start, because replicas of two issuers refuse each other's tokens.
 */

import { issuerResource } from '../../domain/audit-resources.ts'
import { DomainError } from '../../domain/errors.ts'
import { type ChangeEntry, SYSTEM } from '../../domain/identities/authority.ts'
import type { IssuerStore } from '../../domain/ports/instance.ts'
import type { Log } from '../../domain/ports/runtime.ts'

export interface IssuerOptions {
  readonly store: IssuerStore
  readonly issuer: string
  /**
   * Whether the issuer of this server was not configured and this is the only replica. Then a stored issuer that differs in the
   * port only is replaced.
   */
  readonly followsPort: boolean
  readonly log: Log
}

/**
 * Stores the issuer of this server if the instance has none yet, and checks otherwise that it is the same.
 * @throws {Error} that says what to do, if the instance has another issuer. {DomainError} `storage_unavailable`.
 */
export async function settleIssuer({ store, issuer, followsPort, log }: IssuerOptions): Promise<void> {
  const before = await store.find()
  if (before === issuer) return
  const stored = await store.change(entryFor('store', issuer), (found) =>
    found === null || (followsPort && differsInPortOnly(found, issuer)) ? issuer : found,
  )
  if (stored !== issuer) throw new Error(whyRefused(stored, issuer))
  if (before !== null)
    log.warn({ before, issuer }, 'the issuer has moved with the port: tokens of before are refused now')
}

/** Changes the issuer on purpose. @returns The one before; null if there was none. */
export async function changeIssuer(store: IssuerStore, issuer: string): Promise<string | null> {
  let before: string | null = null
  await store.change(entryFor('change', issuer), (stored) => {
    before = stored
    return issuer
  })
  return before
}

/**
 * Checks that no other issuer has been stored on purpose since this replica was started: two must not issue tokens for long.
 * @param stored Null: none has been stored.
 * @throws {DomainError} `storage_unavailable`.
 */
export function assertSameIssuer(stored: string | null, issuer: string): void {
  if (stored === null || stored === issuer) return
  throw new DomainError('storage_unavailable', 'this server cannot be used until its operator has started it again', {
    forOperator: `the issuer of the instance has been changed to ${stored}: start this server again with KEYTURN_BASE_URL=${stored}`,
  })
}

function entryFor(action: 'store' | 'change', issuer: string): ChangeEntry {
  return { ...SYSTEM, action: `issuer/${action}`, resource: issuerResource(issuer) }
}

function differsInPortOnly(one: string, other: string): boolean {
  const [first, second] = [new URL(one), new URL(other)]
  return first.protocol === second.protocol && first.hostname === second.hostname
}

function whyRefused(stored: string, issuer: string): string {
  return (
    `the issuer of this instance is ${stored}, and the base URL of this server is ${issuer}: ` +
    `start it with KEYTURN_BASE_URL=${stored}, or change the issuer on purpose with "keyturn issuer change ${issuer}", ` +
    'after which verifiers must expect the new one'
  )
}
