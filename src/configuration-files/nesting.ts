/**
 * A limit on how deep the values of a file are in each other. All that reads them further on is recursive, also in the YAML library, and would
 * exhaust the stack.
 */
import { type CST, Lexer, Parser } from 'yaml'

/** How many lists and objects may be in each other. The documents of a configuration need 6, and `tokenClaims` what they have. */
const MAX_DEPTH = 64

export const TOO_DEEP = `values are in more than ${MAX_DEPTH} others, one in the other`

/** Thrown when a file has a list or an object that is too deep. */
export class TooDeep extends Error {
  readonly offset: number

  constructor(offset: number) {
    super(TOO_DEEP)
    this.offset = offset
  }
}

/** The tokens of a YAML or JSON text. @param onLine Called with the offset of each line. @throws {TooDeep} */
export function* shallowTokens(text: string, onLine: (offset: number) => void): Generator<CST.Token, void> {
  const parser = new Parser(onLine)
  // As `parse` of the parser does, which cannot be stopped.
  onLine(0)
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme)
    if (parser.stack.length <= MAX_DEPTH) continue
    const tooDeep = parser.stack.filter(isCollection)[MAX_DEPTH]
    if (tooDeep !== undefined) throw new TooDeep(tooDeep.offset)
  }
  yield* parser.end()
}

/** Whether a value has too many others in each other, by aliases, which let one value stand in many places. */
export function isTooDeep(value: unknown): boolean {
  let level = new Set([value].filter(isContainer))
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    if (level.size === 0) return false
    level = new Set([...level].flatMap((container) => Object.values(container).filter(isContainer)))
  }
  return level.size > 0
}

function isCollection(
  token: CST.Token,
): token is Extract<CST.Token, { type: 'block-map' | 'block-seq' | 'flow-collection' }> {
  return token.type === 'block-map' || token.type === 'block-seq' || token.type === 'flow-collection'
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
