/** What verifiers of the suite are told when they are started. */

/** How long a verifier keeps the key set in the suite, in seconds, where that can be set. */
export const CACHE_SECONDS = 2

/** What a verifier is told when it is started. */
export interface Surroundings {
  /** Where its sources and packages are. */
  readonly folder: string
  readonly issuer: string
  readonly audience: string
}
