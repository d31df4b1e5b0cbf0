/**
 * An instance that trusts no other issuer.
 */
export const NO_FEDERATION = {
  verify: async () => ({ kind: 'refused', reason: 'no issuer is trusted' }) as const,
}
