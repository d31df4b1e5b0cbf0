/**
 * How far an apply has come, for what it says when it is interrupted.
 */

type SecretState = 'not handed over' | 'not known whether handed over' | 'handed over'

/** One apply. */
export class ApplyProgress {
  #configuration: 'nothing was applied' | 'sent' | { readonly version: bigint } = 'nothing was applied'
  readonly #secrets = new Map<string, SecretState>()
  #isInterrupted = false

  /** The configuration is about to be applied. */
  sending(): void {
    this.#begin()
    this.#configuration = 'sent'
  }

  /** It was applied. @param users Those who get a secret now. */
  applied(version: bigint, users: readonly string[]): void {
    this.#configuration = { version }
    for (const user of users) this.#secrets.set(user, 'not handed over')
  }

  /** The secret of a user is about to be generated. */
  handingOver(user: string): void {
    this.#begin()
    this.#secrets.set(user, 'not known whether handed over')
  }

  /** It was handed over, or it was not. */
  settled(user: string, state: Exclude<SecretState, 'not known whether handed over'>): void {
    this.#secrets.set(user, state)
  }

  /** What is known now. Nothing else can begin after that. */
  interrupt(): string {
    this.#isInterrupted = true
    if (this.#configuration === 'nothing was applied') return this.#configuration
    if (this.#configuration === 'sent') {
      return 'it is not known whether the configuration was applied, all of it or nothing: "keyturn plan" shows what is left'
    }
    const applied = `the configuration was applied (version ${this.#configuration.version})`
    const states = ['handed over', 'not known whether handed over', 'not handed over'] as const
    const lists = states.flatMap((state) => {
      const users = [...this.#secrets].filter(([, each]) => each === state).map(([user]) => user)
      return users.length === 0 ? [] : [`${state}: ${users.join(', ')}`]
    })
    if (lists.length === 0) return applied
    const isDone = [...this.#secrets.values()].every((state) => state === 'handed over')
    return `${applied}; client secrets ${lists.join('; ')}${isDone ? '' : '. Apply it again for those that are missing'}`
  }

  /** @throws {Error} if what follows could not be told any more. */
  #begin(): void {
    if (this.#isInterrupted) throw new Error('interrupted')
  }
}
