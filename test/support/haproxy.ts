/**
 * HAProxy with the configuration in `deploy/haproxy`, in front of servers under test.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { eventually } from './eventually.ts'

/** The configuration that is shipped. */
const HAPROXY_CONFIG = join(import.meta.dirname, '../../deploy/haproxy/haproxy.cfg')

const PROGRAM = ['/usr/sbin/haproxy', '/usr/local/sbin/haproxy', '/opt/homebrew/bin/haproxy'].find(existsSync)

/** The program; empty if there is none. */
const HAPROXY_PROGRAM = PROGRAM ?? ''

/** Why HAProxy cannot be started; undefined if it can. */
export const WITHOUT_HAPROXY = PROGRAM === undefined ? 'haproxy is not installed' : undefined

/** A running HAProxy. */
export interface HaProxy {
  /** Everything that it has logged so far. */
  log(): string
  stop(): Promise<void>
}

/**
 * Starts it at the address of `url`, and waits until it reaches a replica that is ready.
 *
 * @param replicas Addresses, `host:port`, which the configuration knows as `KEYTURN_1` and so on.
 * @param config A file; otherwise the configuration that is shipped.
 */
export async function startHaProxy(
  url: string,
  replicas: readonly string[],
  config = HAPROXY_CONFIG,
): Promise<HaProxy> {
  const names = Object.fromEntries(replicas.map((address, i) => [`KEYTURN_${i + 1}`, address]))
  const child = spawn(HAPROXY_PROGRAM, ['-db', '-f', config], {
    env: { LISTEN: new URL(url).host, ...names },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      log += chunk
    })
  }
  const ended = once(child, 'exit').then(() => {
    throw new Error(`haproxy ended:\n${log}`)
  })
  ended.catch(() => {})
  const serves = eventually(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200))
  await Promise.race([serves, ended])
  return { log: () => log, stop: () => end(child) }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}
