/**
 * Questions at a terminal: confirmations before what cannot be undone, names, and secrets.
 *
 * Without a terminal no confirmation is asked for: a script goes on as with `--yes`.
 */
import { Writable } from 'node:stream'
import type { Io } from './io.ts'
import type { YesOption } from './options.ts'

/** @throws {Error} if the answer at a terminal is not yes. */
export async function confirm(io: Io, { yes }: YesOption, question: string): Promise<void> {
  if (yes === true || !io.isTerminal) return
  // The end of the input, and Ctrl-C, mean no.
  const answer = (await ask(io, `${question} [y/N] `)) ?? ''
  if (!/^y(es)?$/i.test(answer.trim())) throw new Error('nothing was changed')
}

/**
 * Asks a question on standard error. Without a terminal the answer is the first line of standard input, and nothing is printed.
 *
 * @param isSecret Whether the answer stays invisible.
 * @returns The answer; undefined at the end of the input and after Ctrl-C.
 */
export async function ask(io: Io, question: string, isSecret = false): Promise<string | undefined> {
  const { stdin, stderr, isTerminal } = io
  if (stdin === undefined) return undefined
  // Loaded here, not above: most commands ask nothing.
  const { createInterface } = await import('node:readline')
  const silence = new Writable({ write: (_chunk, _encoding, done) => done() })
  const isSilent = isSecret || !isTerminal
  // With `terminal` it reads key by key, and shows only what it writes itself.
  const keys = isSecret && isTerminal ? { terminal: true } : {}
  const terminal = createInterface({ input: stdin, output: isSilent ? silence : stderr, prompt: question, ...keys })
  const answered = new Promise<string | undefined>((resolve) => {
    terminal.once('line', resolve).once('close', () => resolve(undefined))
  })
  terminal.prompt()
  // Only now: the terminal itself shows what is typed before the interface has it, and what is typed before is no answer.
  if (isSecret && isTerminal) stderr.write(question)
  const answer = await answered
  terminal.close()
  if (isSecret && isTerminal) stderr.write('\n')
  return answer
}
