/**
 * The completion scripts in the real shells. A shell that is not installed is skipped.
 */
import { spawnSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { removeFolder, runKeyturnInProcess, temporaryFolder } from '../../support/keyturn.ts'
import { rejects } from '../../support/terminal.ts'
import { itUnless } from '../../support/unless.ts'

let folder: string
beforeAll(async () => {
  folder = await temporaryFolder()
  await mkdir(join(folder, 'keyturn/contexts'), { recursive: true })
  for (const name of ['prod', 'test']) await writeFile(join(folder, 'keyturn/contexts', `${name}.json`), '{}')
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout, stderr } = await runKeyturnInProcess(['completion', shell])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    await writeFile(join(folder, `script.${shell}`), stdout)
  }
})
afterAll(() => removeFolder(folder))

const COMMANDS = ['audit', 'completion', 'config', 'context', 'demo', 'keys', 'login', 'projects', 'secrets', 'users']
const KEYS = ['activate', 'create', 'delete', 'list', 'policy', 'revoke', 'rotate', 'schedule']

/** What is offered at the end of each line. */
const OFFERED: readonly (readonly [line: string, words: readonly string[]])[] = [
  ['keyturn keys ', KEYS],
  ['keyturn keys re', ['revoke']],
  ['keyturn users tokens ', ['create', 'list', 'revoke']],
  ['keyturn keys create ', ['ecdsa', 'ed25519', 'rsa']],
  ['keyturn keys create --json r', ['rsa']],
  ['keyturn keys list --o', ['--output']],
  ['keyturn keys list --c', ['--ca', '--client-cert', '--client-key', '--context', '--credentials']],
  ['keyturn keys list --output ', ['json', 'table', 'yaml']],
  [
    'keyturn users grant x --instance-role ',
    ['IAM_AUDITOR', 'IAM_KEY_OPERATOR', 'IAM_OWNER', 'IAM_OWNER_VIEWER', 'IAM_USER_ADMINISTRATOR'],
  ],
  ['keyturn context use ', ['prod', 'test']],
  ['keyturn keys list --context p', ['prod']],
  ['keyturn keys list --ca script.b', ['script.bash']],
  ['keyturn apply --file script.b', ['script.bash']],
  ['keyturn plan --d', ['--detailed-exitcode']],
  ['keyturn export --output ', ['json', 'yaml']],
  ['keyturn users list --project ', []],
  ['keyturn completion ', ['bash', 'fish', 'zsh']],
]

/** For each line of the arguments, a line that begins with "=" and then what the shell offers. */
const BASH = `
  source script.bash
  for line in "$@"; do
    echo "="
    read -ra COMP_WORDS <<<"$line"
    [ "$line" = "\${line% }" ] || COMP_WORDS+=("")
    COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 ))
    _keyturn
    printf '%s\\n' "\${COMPREPLY[@]}"
  done`

const FISH = `
  source script.fish
  for line in $argv
    echo =
    complete -C $line | string replace -r '\\t.*' ''
  end`

/** Types each line at a terminal of zsh, and Ctrl-D, which lists what can follow. */
const ZSH = `
  zmodload zsh/zpty
  zpty z zsh -f -i
  zpty -w z "PS1=PROMPT; stty -echo cols 200; unsetopt prompt_sp; autoload -U compinit; compinit -u -D; source script.zsh; print RE''ADY"
  # A line may be typed only when there is a prompt: before, Ctrl-D would end the input.
  zpty -r z out '*READY*PROMPT*'
  for line in "$@"; do
    zpty -w -n z "$line"$'\\C-d\\C-u'
    zpty -w z "print E''ND"
    zpty -r z out '*END*PROMPT*'
    print -r -- "="
    print -r -- "\${out%END*}"
  done
  zpty -d z`

const isMissing = (shell: string) =>
  spawnSync(shell, ['--version']).status === 0 ? undefined : `there is no ${shell} here`

/** What a shell offers for each line. */
function offered(shell: string, script: string): (readonly [string, string[]])[] {
  const lines = OFFERED.map(([line]) => line)
  const name = shell === 'fish' ? [] : [shell]
  const { stdout, stderr } = spawnSync(shell, [...(shell === 'zsh' ? ['-f'] : []), '-c', script, ...name, ...lines], {
    cwd: folder,
    timeout: 60_000,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: folder, XDG_CONFIG_HOME: folder, TERM: 'dumb' },
  })
  expect(stderr).toBe('')
  const answers = stdout.split(/^=$/m).slice(1)
  return lines.map((line, index) => [line, wordsIn(shell, answers[index] ?? '')] as const)
}

function wordsIn(shell: string, answer: string): string[] {
  const text = shell === 'zsh' ? listed(answer) : answer
  return text
    .split('\n')
    .flatMap((line) => (line.includes(' -- ') ? line.trim().split(/\s+/).slice(0, 1) : line.trim().split(/\s+/)))
    .filter((word) => word !== '')
    .sort()
}

/** The list between the line that was typed and the line as it is shown again. */
function listed(shown: string): string {
  const lines = shown.split(/\r*\n/).filter((line) => line.trim() !== '')
  return lines
    .slice(
      1,
      lines.findLastIndex((line) => line.startsWith('PROMPT')),
    )
    .join('\n')
}

describe('keyturn completion', () => {
  itUnless(isMissing('bash'))('completes in bash', () => {
    expect(offered('bash', BASH)).toEqual(OFFERED)
  })

  itUnless(isMissing('zsh'))('completes in zsh', () => {
    expect(offered('zsh', ZSH)).toEqual(OFFERED)
  })

  itUnless(isMissing('fish'))('completes in fish', () => {
    expect(offered('fish', FISH)).toEqual(OFFERED)
  })

  it('knows every command', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { stdout } = await runKeyturnInProcess(['completion', shell])
      for (const command of COMMANDS) expect(stdout).toContain(`'${command}'`)
    }
  })

  it('knows three shells', async () => {
    expect(await runKeyturnInProcess(['completion', 'tcsh'])).toEqual(
      rejects("command-argument value 'tcsh' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish."),
    )
  })
})
