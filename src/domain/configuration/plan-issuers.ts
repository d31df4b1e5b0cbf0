import { addIssuer, editIssuer, existingIssuer, type TrustedIssuer } from '../federation/trusted-issuer.ts'
import { issuerFacts } from './description.ts'
import { isPruned, type PlannedResources, type Planning, planResources } from './plan-resources.ts'

export function planIssuers(planning: Planning): PlannedResources<'trusted_issuer', TrustedIssuer> {
  const { configuration, state, options, mistakes } = planning
  const named = new Set(configuration.trustedIssuers.map(({ issuer }) => issuer))
  // What is pruned makes room.
  let issuers: readonly TrustedIssuer[] = state.trustedIssuers.filter(
    ({ issuer, issuerId }) => named.has(issuer) || !isPruned(issuerId, planning),
  )
  return planResources<'trusted_issuer', (typeof configuration.trustedIssuers)[number], TrustedIssuer>(
    {
      kind: 'trusted_issuer',
      path: ['trustedIssuers', 'issuer'],
      configured: configuration.trustedIssuers,
      existing: state.trustedIssuers,
      nameOf: ({ issuer }) => ({ name: issuer }),
      idOf: ({ issuerId }) => issuerId,
      factsOf: (issuer) => issuerFacts(issuer, options),
      plan: ({ keys, ...facts }, path, before) => {
        if (keys === null) return undefined
        const issuerId = before?.issuerId ?? options.newId()
        const { moment, issuer: own } = options
        const next = mistakes.checked(path, () =>
          before === undefined
            ? addIssuer(issuers, { ...facts, issuerId, keys }, { date: moment.date, own })
            : editIssuer(issuers, issuerId, { ...facts, keys }),
        )
        if (next === undefined) return undefined
        issuers = next
        return { start: before, next: existingIssuer(next, issuerId) }
      },
    },
    planning,
  )
}
