/**
 * Counts what happens between two moments, and what the server and this process use in between.
 */
import { cpuSecondsOf } from '../processes/usage.ts'
import { percentileOf } from '../statistics.ts'
import type { Measurement } from './job.ts'

export class Window {
  readonly #pids: readonly number[]
  readonly #latencies: number[] = []
  readonly #samples: string[] = []
  #open = false
  #answers = 0
  #errors = 0
  #firstError: string | null = null
  #openedAt = 0
  #cpu = 0
  #ownCpu = 0

  constructor(pids: readonly number[]) {
    this.#pids = pids
  }

  open(): void {
    this.#cpu = cpuSecondsOf(this.#pids)
    this.#ownCpu = ownCpuSeconds()
    this.#openedAt = performance.now()
    this.#open = true
  }

  get isOpen(): boolean {
    return this.#open
  }

  answered(millis: number): void {
    if (!this.#open) return
    this.#answers += 1
    this.#latencies.push(millis)
  }

  /** Errors count at all times: a server that fails while it warms up is not well either. */
  failed(why: string): void {
    this.#errors += 1
    this.#firstError ??= why
  }

  sample(text: string): void {
    this.#samples.push(text)
  }

  close(): Measurement {
    this.#open = false
    return {
      seconds: (performance.now() - this.#openedAt) / 1000,
      answers: this.#answers,
      errors: this.#errors,
      firstError: this.#firstError,
      cpuSeconds: cpuSecondsOf(this.#pids) - this.#cpu,
      generatorCpuSeconds: ownCpuSeconds() - this.#ownCpu,
      latency: { p50: percentileOf(this.#latencies, 0.5), p99: percentileOf(this.#latencies, 0.99) },
      samples: this.#samples,
    }
  }
}

function ownCpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
