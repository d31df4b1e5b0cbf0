/**
 * The mistakes of a configuration, all of them: each with the place where it is.
 */
import { DomainError, type DomainErrorCode } from '../errors.ts'

/** Something that cannot be applied. */
export interface Mistake {
  /** In the JSON form of a configuration, for example `serviceUsers[3].publicKeys[0]`. Empty: the whole configuration. */
  readonly path: string
  readonly message: string
  /** Why, as a call that changes one resource would be refused. */
  readonly code: DomainErrorCode
}

export class Mistakes {
  readonly #found: Mistake[] = []

  get found(): readonly Mistake[] {
    return this.#found
  }

  add(path: string, code: DomainErrorCode, message: string): void {
    this.#found.push({ path, code, message })
  }

  /** What a rule makes of a value, or the value itself if the rule refuses it, which is a mistake. */
  applied<T>(path: string, value: T, rule: (value: T) => T): T {
    return this.checked(path, () => rule(value)) ?? value
  }

  /** What a rule returns; undefined if it refuses, which is a mistake. */
  checked<T>(path: string, rule: () => T): T | undefined {
    try {
      return rule()
    } catch (error) {
      if (!(error instanceof DomainError)) throw error
      this.add(path, error.code, error.message)
      return undefined
    }
  }
}

/** The refusal of a configuration with mistakes, with the first in its message. */
export function invalidConfiguration(mistakes: readonly Mistake[]): DomainError {
  const [first] = mistakes
  const count = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes, first`
  const place = first === undefined || first.path === '' ? '' : ` ${first.path}`
  return new DomainError('configuration_invalid', `the configuration has ${count}${place}: ${first?.message}`, {
    metadata: { mistakes: String(mistakes.length) },
    fields: mistakes.map(({ path, message }) => ({ path, message })),
  })
}
