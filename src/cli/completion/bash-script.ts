/**
 * The completion script for bash. It needs neither bash-completion nor bash 4, which macOS does not have.
 */
import type { CommandNode, OptionNode, Values } from './command-tree.ts'

/** The script. */
export function bashScript(nodes: readonly CommandNode[]): string {
  return `# Completion of keyturn for bash. Load it with: source <(keyturn completion bash)

_keyturn_contexts() {
  local file
  for file in "\${XDG_CONFIG_HOME:-$HOME/.config}"/keyturn/contexts/*.json; do
    file=\${file##*/}
    [ "$file" = '*.json' ] || printf '%s\\n' "\${file%.json}"
  done
}

_keyturn() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path= index word
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    case "$path $word" in
${nodes
  .filter(({ path }) => path !== '')
  .map(({ path }) => `      ${quoted(path.includes(' ') ? path : ` ${path}`)}) path=${quoted(path)} ;;`)
  .join('\n')}
    esac
  done
  case "$path $previous" in
${nodes.flatMap((node) => node.options.flatMap((option) => valueCase(node, option))).join('\n')}
  esac
  case "$path" in
${nodes.map(commandCase).join('\n')}
  esac
}

complete -F _keyturn keyturn
`
}

function valueCase({ path }: CommandNode, { name, values }: OptionNode): string[] {
  if (values.kind === 'none') return []
  return [`    ${quoted(`${path} ${name}`)}) ${replies(values)}; return ;;`]
}

function commandCase({ path, commands, options, values }: CommandNode): string {
  const named = (items: readonly { readonly name: string }[]) =>
    replies({ kind: 'words', words: items.map(({ name }) => name) })
  const operands = commands.length === 0 ? replies(values) : named(commands)
  return `    ${quoted(path)}) case "$current" in -*) ${named(options)} ;; *) ${operands} ;; esac ;;`
}

function replies(values: Values): string {
  switch (values.kind) {
    case 'words':
      return `COMPREPLY=($(compgen -W ${quoted(values.words.join(' '))} -- "$current"))`
    case 'context':
      return 'COMPREPLY=($(compgen -W "$(_keyturn_contexts)" -- "$current"))'
    case 'file':
      return 'COMPREPLY=($(compgen -f -- "$current"))'
    default:
      return ':'
  }
}

/** The texts are words, dashes and blanks. */
function quoted(text: string): string {
  return `'${text}'`
}
