/**
 * The completion script for fish.
 */
import type { CommandNode, OptionNode, Values } from './command-tree.ts'

/** The script. */
export function fishScript(nodes: readonly CommandNode[]): string {
  return `# Completion of keyturn for fish. Load it with: keyturn completion fish | source

function __keyturn_contexts
  set -l folder $HOME/.config
  set -q XDG_CONFIG_HOME; and set folder $XDG_CONFIG_HOME
  for file in $folder/keyturn/contexts/*.json
    string replace -r '^.*/(.*)\\.json$' '$1' -- $file
  end
end

function __keyturn_at
  set -l path
  for word in (commandline -opc)[2..]
    switch "$path $word"
${nodes
  .filter(({ path }) => path !== '')
  .map(({ path }) => `      case ${quoted(path.includes(' ') ? path : ` ${path}`)}\n        set path ${quoted(path)}`)
  .join('\n')}
    end
  end
  test "$path" = "$argv[1]"
end

complete -c keyturn -f
${nodes.flatMap(linesOf).join('\n')}
`
}

function linesOf(node: CommandNode): string[] {
  const begin = `complete -c keyturn -n ${quoted(`__keyturn_at "${node.path}"`)}`
  return [
    ...node.commands.map(({ name, description }) => `${begin} -a ${name} -d ${quoted(description)}`),
    ...node.options.map(
      (option) => `${begin} -l ${option.name.slice(2)} -d ${quoted(option.description)}${argumentOf(option)}`,
    ),
    ...(node.values.kind === 'none' || node.values.kind === 'other' ? [] : [`${begin} ${offer(node.values)}`]),
  ]
}

/** Whether an option takes a value, and which. */
function argumentOf({ values }: OptionNode): string {
  if (values.kind === 'none') return ''
  return values.kind === 'file' ? ' -r -F' : ` -x ${offer(values)}`.trimEnd()
}

function offer(values: Values): string {
  switch (values.kind) {
    case 'words':
      return `-a ${quoted(values.words.join(' '))}`
    case 'context':
      return "-a '(__keyturn_contexts)'"
    case 'file':
      return '-F'
    default:
      return ''
  }
}

/** The texts have no single quotes. */
function quoted(text: string): string {
  return `'${text}'`
}
