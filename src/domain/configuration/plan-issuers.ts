import { type IssuerKeys, isSameSet } from '../federation/issuer-keys.ts'
import {
  addIssuer,
  editIssuer,
  existingIssuer,
  removeIssuer,
  type TrustedIssuer,
} from '../federation/trusted-issuer.ts'
import type { TrustedIssuerConfiguration } from './configuration.ts'
import { differencesOf, issuerFacts } from './description.ts'
import { isPruned, type PlannedChange, type Planning } from './plan.ts'

export interface PlannedIssuers {
  readonly next: readonly TrustedIssuer[]
  readonly changes: readonly PlannedChange[]
  /** The `issuer` of those of the configuration that are a mistake already. */
  readonly refused: ReadonlySet<string>
}

export function planIssuers(configured: readonly TrustedIssuerConfiguration[], planning: Planning): PlannedIssuers {
  const { state, options, mistakes, claim } = planning
  const names = { projects: new Map(), issuers: new Map(), thumbprintOf: options.thumbprintOf }
  const named = new Set(configured.map(({ issuer }) => issuer))
  const changes: PlannedChange[] = []
  let next = state.trustedIssuers
  // First, to make room.
  for (const before of state.trustedIssuers) {
    if (named.has(before.issuer) || !isPruned(planning, before.issuerId)) continue
    next = removeIssuer(next, before.issuerId)
    const otherUsers = state.otherHolders.trustedIssuers.get(before.issuerId) ?? 0
    changes.push({ kind: 'trusted_issuer', name: nameOf(before), before, next: null, fields: [], otherUsers })
  }
  const done = new Set<string>()
  for (const [index, wanted] of configured.entries()) {
    const path = `trustedIssuers[${index}]`
    if (done.has(wanted.issuer)) {
      mistakes.add(`${path}.issuer`, 'configuration_invalid', 'this issuer stands in the configuration already')
      continue
    }
    done.add(wanted.issuer)
    const before = state.trustedIssuers.find(({ issuer }) => issuer === wanted.issuer)
    if (before !== undefined) claim(path, nameOf(before), before.issuerId)
    const { keys, ...facts } = wanted
    if (keys === null) continue
    const issuerId = before?.issuerId ?? options.newId()
    next = mistakes.applied(path, next, (issuers) =>
      before === undefined
        ? addIssuer(issuers, { ...facts, issuerId, keys }, { date: options.moment.date, own: options.issuer })
        : editIssuer(issuers, issuerId, editOf(facts, keptKeys(before, keys))),
    )
    const after = next.find((issuer) => issuer.issuerId === issuerId)
    if (after === undefined) continue
    const fields = differencesOf(before === undefined ? [] : issuerFacts(before, names), issuerFacts(after, names))
    if (before === undefined || fields.length > 0)
      changes.push({ kind: 'trusted_issuer', name: nameOf(after), before, next: after, fields })
    // Facts in another order are no difference.
    else next = next.map((issuer) => (issuer === after ? existingIssuer(state.trustedIssuers, issuerId) : issuer))
  }
  const accepted = new Set(next.map(({ issuer }) => issuer))
  return { next, changes, refused: new Set([...named].filter((issuer) => !accepted.has(issuer))) }
}

function editOf({ algorithms, maxLifetimeSeconds }: Omit<TrustedIssuerConfiguration, 'keys'>, keys: IssuerKeys) {
  return { algorithms, maxLifetimeSeconds, keys }
}

/** Given keys as they are, if they are the same in another order. */
function keptKeys({ keys: before }: TrustedIssuer, keys: IssuerKeys): IssuerKeys {
  return before.kind === 'given' && keys.kind === 'given' && isSameSet(before.keys, keys.keys) ? before : keys
}

function nameOf({ issuer }: TrustedIssuer) {
  return { kind: 'trusted_issuer', name: issuer } as const
}
