/**
 * Who calls methods that are deprecated, so that an operator knows whom a removal would break.
 */

/** How many pairs of caller and method are kept: those that called last. */
export const MAX_DEPRECATED_CALLS = 1000

/** The calls of a method by one user. */
export interface DeprecatedCalls {
  readonly userId: string
  /** For example `iam.webkey.v2beta.WebKeyService/ListWebKeys`. */
  readonly method: string
  readonly count: number
  readonly firstAt: Date
  readonly lastAt: Date
}

/** The same, with the name of the user. */
export interface NamedDeprecatedCalls extends DeprecatedCalls {
  readonly userName: string
}
