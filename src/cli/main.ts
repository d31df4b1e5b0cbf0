/**
 * Runs the command line with the arguments, the environment and the streams of this process.
 */
import { isatty } from 'node:tty'
import { processEnvironment } from '../config/environment.ts'
import { INTERRUPTED } from './exit.ts'
import { run } from './run.ts'
import { abortAtSignal, firstSignal } from './server/signals.ts'

process.exitCode = await run(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  isTerminal: isatty(0) && isatty(2),
  env: processEnvironment(),
  // Opened only by a command that asks something.
  get stdin() {
    return process.stdin
  },
  // Installs signal handlers only for a command that may start programs. Any other ends at once.
  get signal() {
    return abortAtSignal()
  },
  interrupted: firstSignal,
})
// What an interrupted command waits for would keep the process.
if (process.exitCode > INTERRUPTED) process.exit()
