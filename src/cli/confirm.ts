/**
 * Questions at a terminal: confirmations before what cannot be undone, names, and secrets.
 *
 * Without a terminal no confirmation is asked for: a script goes on as with `--yes`.
 */
import { Writable } from 'node:stream'
import type { Io } from './io.ts'
import type { YesOption } from './options.ts'

/** The longest line of standard input that is read, in characters. */
const MAX_LINE = 65_536

/** @throws {Error} if the answer at a terminal is not yes. */
export async function confirm(io: Io, { yes }: YesOption, question: string): Promise<void> {
  if (yes === true || !io.isTerminal) return
  // The end of the input, and Ctrl-C, mean no.
  const answer = (await ask(io, `${question} [y/N] `)) ?? ''
  if (!/^y(es)?$/i.test(answer.trim())) throw new Error('nothing was changed')
}

/**
 * Asks a question on standard error.
 *
 * @param isSecret Whether the answer stays invisible.
 * @returns The answer; undefined at the end of the input and after Ctrl-C.
 */
export async function ask(io: Io, question: string, isSecret = false): Promise<string | undefined> {
  const { stdin, stderr } = io
  if (stdin === undefined) return undefined
  // Loaded here, not above: most commands ask nothing.
  const { createInterface } = await import('node:readline/promises')
  const silence = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({
    input: stdin,
    output: isSecret ? silence : stderr,
    // Then it reads key by key, and shows only what it writes itself.
    ...(isSecret ? { terminal: true } : {}),
  })
  const ended = new Promise<undefined>((resolve) => terminal.once('close', () => resolve(undefined)))
  const answered = terminal.question(isSecret ? '' : question)
  // Only now: the terminal itself shows what is typed before the interface has it, and what is typed before is no answer.
  if (isSecret) stderr.write(question)
  try {
    return await Promise.race([answered, ended])
  } finally {
    terminal.close()
    if (isSecret) stderr.write('\n')
  }
}

/** The first line of standard input that is no terminal; undefined if there is none. @throws {Error} if it is too long. */
export async function readLine({ stdin }: Io): Promise<string | undefined> {
  let text = ''
  for await (const chunk of stdin?.setEncoding('utf8') ?? []) {
    text += chunk
    if (text.includes('\n')) break
    if (text.length > MAX_LINE) throw new Error('the first line of standard input is too long')
  }
  return text.split('\n')[0] || undefined
}
