/**
 * `keyturn completion`: prints the completion script for a shell. The script knows all commands, and starts none.
 */
import { Argument, Command } from 'commander'
import type { Io } from '../io.ts'
import { bashScript } from './bash-script.ts'
import { type CommandNode, commandNodes } from './command-tree.ts'
import { fishScript } from './fish-script.ts'
import { zshScript } from './zsh-script.ts'

const SCRIPTS: Readonly<Record<string, (nodes: readonly CommandNode[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

/** The command. */
export function completionCommand(io: Io): Command {
  return new Command('completion')
    .addArgument(new Argument('<shell>').choices(Object.keys(SCRIPTS)))
    .action((shell: string, _options: unknown, command: Command) => {
      const program = command.parent ?? command
      io.stdout.write(SCRIPTS[shell]?.(commandNodes(program)) ?? '')
    })
}
