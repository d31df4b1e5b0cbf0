/**
 * The commands and their options as the completion scripts need them.
 */
import type { Argument, Command, Option } from 'commander'

/** What can follow an option, or stand in the place of an argument. */
export type Values =
  | { readonly kind: 'none' | 'other' | 'file' | 'context' }
  | { readonly kind: 'words'; readonly words: readonly string[] }

/** An option. */
export interface OptionNode {
  /** With its dashes. */
  readonly name: string
  readonly description: string
  /** `none`: it takes no value. */
  readonly values: Values
}

/** A command, or a group of commands. */
export interface CommandNode {
  /** The words from the first command on, with blanks between them; empty for the program. */
  readonly path: string
  readonly description: string
  readonly commands: readonly { readonly name: string; readonly description: string }[]
  readonly options: readonly OptionNode[]
  /** What its first argument with known values can be. */
  readonly values: Values
}

/** All commands, the program first. */
export function commandNodes(command: Command, path = ''): CommandNode[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command).filter((child) => child.name() !== 'help')
  const node: CommandNode = {
    path,
    description: summaryOf(command.description()),
    commands: commands.map((child) => ({ name: child.name(), description: summaryOf(child.description()) })),
    options: help.visibleOptions(command).flatMap(optionNode),
    values: argumentValues(command.registeredArguments),
  }
  return [
    node,
    ...commands.flatMap((child) => commandNodes(child, path === '' ? child.name() : `${path} ${child.name()}`)),
  ]
}

/** The first sentence or clause, without what the shells give a meaning to. */
function summaryOf(text: string): string {
  const [first = ''] = text.split(/[.:;(]\s|\s\(|[.:;]$/)
  return first.replaceAll(/["'`$\\[\]]/g, '').trim()
}

function optionNode(option: Option): OptionNode[] {
  if (!option.long) return []
  return [{ name: option.long, description: summaryOf(option.description), values: optionValues(option) }]
}

function optionValues({ flags, argChoices, required, optional }: Option): Values {
  if (!required && !optional) return { kind: 'none' }
  return argChoices === undefined ? placeholderValues(flags) : { kind: 'words', words: argChoices }
}

function argumentValues(args: readonly Argument[]): Values {
  for (const argument of args) {
    if (argument.argChoices !== undefined) return { kind: 'words', words: argument.argChoices }
    const values = placeholderValues(`<${argument.name()}>`)
    if (values.kind !== 'other') return values
  }
  return { kind: 'none' }
}

/** Placeholders say what they stand for. */
function placeholderValues(text: string): Values {
  if (text.includes('<file>')) return { kind: 'file' }
  return /<context>|--context /.test(text) ? { kind: 'context' } : { kind: 'other' }
}
