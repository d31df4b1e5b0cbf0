/**
 * The REST API of the OpenID Foundation's conformance suite: makes test plans, runs their modules, and reads what came of each.
 */

/** A plan that is to be made. */
export interface PlanRequest {
  readonly name: string
  readonly variant: Variant
  /** Where the server is, and the clients that it knows. */
  readonly configuration: { readonly description: string; readonly server: object; readonly [section: string]: unknown }
}

/** Choices, by name. */
type Variant = Readonly<Record<string, string>>

/** A module of a plan. */
interface PlannedModule {
  readonly testModule: string
  readonly variant?: Variant
}

/** A condition that a module found not to hold. */
export interface Finding {
  readonly result: 'FAILURE' | 'WARNING'
  /** Its name. */
  readonly condition: string
  readonly message: string
  /** Where it is required. */
  readonly requirements: readonly string[]
}

/** What came of a module. */
export interface Outcome {
  readonly module: string
  /** `PASSED`, `WARNING`, `FAILED`, `SKIPPED`, `REVIEW`, or the status of a module that has not finished. */
  readonly result: string
  readonly findings: readonly Finding[]
}

/** An entry of a log, as far as it is read here. */
interface LogEntry {
  readonly src: string
  readonly msg?: string
  readonly result?: string
  readonly requirements?: readonly string[]
}

interface RequestOptions {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
}

const MODULE_TIMEOUT_MILLIS = 600_000
/** What the suite waits for at most before it responds. */
const LONG_POLL_MILLIS = 30_000

/** A running suite that asks for no login, as in its development mode. */
export class Suite {
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  /** Makes a plan and runs its modules, one after the other. */
  async *run({ name, variant, configuration }: PlanRequest): AsyncGenerator<Outcome> {
    const query = { planName: name, variant: JSON.stringify(variant) }
    const body = { alias: 'keyturn', ...configuration }
    const plan = await this.#request<{ id: string; modules: readonly PlannedModule[] }>('POST', 'plan', { query, body })
    for (const module of plan.modules) yield await this.#runModule(plan.id, module)
  }

  async #runModule(plan: string, { testModule, variant = {} }: PlannedModule): Promise<Outcome> {
    const query = { test: testModule, plan, variant: JSON.stringify(variant) }
    const { id } = await this.#request<{ id: string }>('POST', 'runner', { query })
    await this.#untilEnded(id)
    const { status, result } = await this.#request<{ status: string; result?: string }>('GET', `info/${id}`)
    const log = await this.#request<readonly LogEntry[]>('GET', `log/${id}`)
    return { module: testModule, result: result ?? status, findings: log.flatMap(findingsIn) }
  }

  async #untilEnded(id: string): Promise<void> {
    const deadline = Date.now() + MODULE_TIMEOUT_MILLIS
    const query = { states: 'FINISHED,INTERRUPTED', timeoutMs: String(LONG_POLL_MILLIS) }
    while (Date.now() < deadline) {
      const { state } = await this.#request<{ state?: string }>('GET', `runner/${id}/wait-state`, { query })
      if (state !== undefined) return
    }
    throw new Error(`the module ${id} did not end`)
  }

  async #request<T>(method: string, path: string, { query = {}, body }: RequestOptions = {}): Promise<T> {
    const url = new URL(`/api/${path}?${new URLSearchParams(query)}`, this.#url)
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url, { method, headers, body: body === undefined ? null : JSON.stringify(body) })
    if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`)
    return (await response.json()) as T
  }
}

function findingsIn({ src, msg = '', result, requirements = [] }: LogEntry): readonly Finding[] {
  return result === 'FAILURE' || result === 'WARNING' ? [{ result, condition: src, message: msg, requirements }] : []
}
