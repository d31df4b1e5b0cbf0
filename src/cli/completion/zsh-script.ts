/**
 * The completion script for zsh.
 */
import type { CommandNode, OptionNode, Values } from './command-tree.ts'

/** The script. It can be a file of `fpath`, or be sourced after `compinit`. */
export function zshScript(nodes: readonly CommandNode[]): string {
  return `#compdef keyturn
# Completion of keyturn for zsh. Write it to a file _keyturn in a folder of fpath, or load it after compinit with:
# source <(keyturn completion zsh)

_keyturn_contexts() {
  local -a contexts
  contexts=(\${XDG_CONFIG_HOME:-$HOME/.config}/keyturn/contexts/*.json(N:t:r))
  (( $#contexts )) && compadd -a contexts
}

_keyturn() {
  local known= index
  local -a subcommands flags
  for ((index = 2; index < CURRENT; index++)); do
    case "$known $words[index]" in
${nodes
  .filter(({ path }) => path !== '')
  .map(({ path }) => `      ${quoted(path.includes(' ') ? path : ` ${path}`)}) known=${quoted(path)} ;;`)
  .join('\n')}
    esac
  done
  case "$known $words[CURRENT-1]" in
${nodes.flatMap((node) => node.options.flatMap((option) => valueCase(node, option))).join('\n')}
  esac
  case "$known" in
${nodes.map(commandCase).join('\n')}
  esac
}

if [ "$funcstack[1]" = _keyturn ]; then
  _keyturn "$@"
else
  compdef _keyturn keyturn
fi
`
}

function valueCase({ path }: CommandNode, { name, values }: OptionNode): string[] {
  if (values.kind === 'none') return []
  return [`    ${quoted(`${path} ${name}`)}) ${offer(values)}; return ;;`]
}

function commandCase({ path, commands, options, values }: CommandNode): string {
  const described = (items: readonly { readonly name: string; readonly description: string }[]) =>
    items.map(({ name, description }) => quoted(`${name}:${description}`)).join(' ')
  const operands = commands.length === 0 ? offer(values) : '_describe command subcommands'
  return [
    `    ${quoted(path)})`,
    `      flags=(${described(options)})`,
    `      subcommands=(${described(commands)})`,
    `      if [[ $words[CURRENT] == -* ]]; then _describe option flags; else ${operands}; fi ;;`,
  ].join('\n')
}

function offer(values: Values): string {
  switch (values.kind) {
    case 'words':
      return `compadd -- ${values.words.join(' ')}`
    case 'context':
      return '_keyturn_contexts'
    case 'file':
      return '_files'
    default:
      return ':'
  }
}

/** The texts have no quotes. */
function quoted(text: string): string {
  return `'${text}'`
}
