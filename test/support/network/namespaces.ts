/**
 * Regions: network namespaces of this machine, with wires of some delay and loss between them.
 *
 * `tc netem` would do the same, but not every kernel has it. `wires.py` delays and drops packets of IP, so that TCP on both ends is that of the
 * kernel.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { NOT_LINUX, NOT_ROOT } from '../unless.ts'

const run = promisify(execFile)
const WIRES = join(import.meta.dirname, 'wires.py')

/** Why namespaces with wires cannot be made; undefined if they can. */
export const WITHOUT_NAMESPACES = NOT_LINUX ?? NOT_ROOT ?? withoutTools()

function withoutTools(): string | undefined {
  if (!existsSync('/dev/net/tun')) return 'there is no /dev/net/tun'
  for (const [program, args] of [
    ['ip', ['netns', 'list']],
    ['python3', ['-c', 'import ctypes, fcntl']],
  ] as const) {
    try {
      execFileSync(program, args, { stdio: 'ignore' })
    } catch {
      return `${program} does not work`
    }
  }
  return undefined
}

/** A namespace. */
export interface Namespace {
  readonly name: string
  /** Its address on the wires. On its loopback it is alone. */
  readonly address: string
  /** A command that runs another one inside. */
  readonly enter: readonly string[]
}

/** What a wire between two namespaces is like, in both directions. */
export interface Wire {
  /** There and back, in milliseconds. */
  readonly roundTrip: number
  /** The share of packets that get lost, in per cent. */
  readonly loss: number
}

/** Namespaces and their wires. */
export class Network {
  readonly #wires: ChildProcess
  readonly namespaces: readonly Namespace[]

  constructor(wires: ChildProcess, namespaces: readonly Namespace[]) {
    this.#wires = wires
    this.namespaces = namespaces
  }

  /** Connects two namespaces, or changes their wire. */
  connect(one: Namespace, other: Namespace, { roundTrip, loss }: Wire): void {
    this.#command('delay', one, other, roundTrip / 2)
    this.#command('loss', one, other, loss)
  }

  /** From now on nothing gets from one to the other, and nobody is told. */
  cut(one: Namespace, other: Namespace): void {
    this.#command('cut', one, other)
  }

  mend(one: Namespace, other: Namespace): void {
    this.#command('mend', one, other)
  }

  /** Removes everything. Processes inside must have ended. */
  async remove(): Promise<void> {
    if (this.#wires.exitCode === null) {
      const exited = once(this.#wires, 'exit')
      this.#wires.stdin?.end()
      await exited
    }
    for (const { name } of this.namespaces) await run('ip', ['netns', 'delete', name]).catch(() => {})
  }

  #command(name: string, one: Namespace, other: Namespace, ...values: readonly number[]): void {
    const numbers = [one, other].map((namespace) => this.namespaces.indexOf(namespace) + 1)
    this.#wires.stdin?.write(`${[name, ...numbers, ...values].join(' ')}\n`)
  }
}

/** Makes namespaces that are not connected yet. @param count At most 200. */
export async function makeNetwork(count: number): Promise<Network> {
  const namespaces = Array.from({ length: count }, (_, index): Namespace => {
    const name = `keyturn-${process.pid}-${index + 1}`
    return { name, address: `10.77.${index + 1}.1`, enter: ['ip', 'netns', 'exec', name] }
  })
  for (const { name } of namespaces) await run('ip', ['netns', 'add', name])
  const wires = spawn('python3', [WIRES, ...namespaces.map(({ name }) => name)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const network = new Network(wires, namespaces)
  const ready = once(createInterface(wires.stdout!), 'line')
  const ended = once(wires, 'exit').then(() => {
    throw new Error('the wires could not be laid')
  })
  ended.catch(() => {})
  try {
    await Promise.race([ready, ended])
    return network
  } catch (error) {
    await network.remove()
    throw error
  }
}
