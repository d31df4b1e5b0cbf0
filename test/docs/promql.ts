/**
 * What a PromQL expression asks for: metrics, and the labels and values by which it selects and groups.
 *
 * Not a parser of the language, but enough for expressions that people write into alerts and dashboards.
 */

/** A metric in an expression. */
export interface Selector {
  readonly metric: string
  readonly matchers: readonly { readonly label: string; readonly operator: string; readonly value: string }[]
}

/** What an expression refers to. */
export interface PromqlReferences {
  readonly selectors: readonly Selector[]
  /** Labels in `by`, `without`, `on`, `ignoring`, `group_left` and `group_right`. */
  readonly groupedBy: readonly string[]
}

const GROUPING = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g
const RANGE = /\[[^\]]*\]/g
const SELECTOR = /(?<![\w:.])([a-zA-Z_:][\w:]*)\s*(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?(?!\s*\(|[\w:])/g
const MATCHER = /([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"/g
const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset', 'inf', 'nan'])

/** Reads an expression. */
export function referencesOf(expression: string): PromqlReferences {
  const groupedBy = [...expression.matchAll(GROUPING)].flatMap(([, labels = '']) => labels.match(/\w+/g) ?? [])
  const rest = expression.replaceAll(GROUPING, ' ').replaceAll(RANGE, ' ')
  const selectors = [...rest.matchAll(SELECTOR)]
    .filter(([, name = '']) => !WORDS.has(name.toLowerCase()))
    .map(([, metric = '', inner = '']) => ({
      metric,
      matchers: [...inner.matchAll(MATCHER)].map(([, label = '', operator = '', value = '']) => ({
        label,
        operator,
        value,
      })),
    }))
  return { selectors, groupedBy }
}
