/**
 * Runs commands at a terminal, as somebody does who sits there. Node.js cannot make one, so `script` of util-linux does.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const MAIN = join(import.meta.dirname, '../../../src/cli/keyturn.js')

/** Why there is no terminal on this machine; undefined if there can be one. */
export const NO_TERMINAL = /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '')
  ? undefined
  : 'there is no `script` of util-linux'

/** The key that ends the input. */
export const CONTROL_D = '\x04'

/** The key that interrupts. */
export const CONTROL_C = '\x03'

/**
 * Runs a command at a terminal to its end.
 *
 * @param answer What is typed when something is asked; null if nothing may be asked.
 * @returns The exit code, and all that the terminal has shown.
 */
export async function runAtTerminal(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  answer: string | null,
): Promise<{ readonly code: number | null; readonly shown: string }> {
  const command = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TERM: 'dumb', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let shown = ''
  let asked = false
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text
    if (asked || !/\[y\/N\] |secret: /.test(shown)) return
    asked = true
    if (answer === null) child.kill('SIGKILL')
    else child.stdin.write(answer)
  })
  await once(child, 'close')
  return { code: child.exitCode, shown: shown.replaceAll('\r\n', '\n') }
}
