/**
 * The documents of YAML 1.2 and JSON files, each value with its place.
 *
 * YAML is read as the core schema alone: no tags of other types, no duplicate keys, no merge keys and no aliases, so that a file means what
 * stands there, and a small one cannot become a large configuration.
 */
import { protoCamelCase } from '@bufbuild/protobuf/reflect'
import { isMap, isScalar, isSeq, LineCounter, type Node, parseAllDocuments, visit, type YAMLError } from 'yaml'
import type { FileMistake, Place } from './mistakes.ts'

/** The largest file, in characters. What is sent has at most 4 MiB. */
const MAX_CHARACTERS = 8 * 1024 * 1024

export interface SourceFile {
  readonly name: string
  readonly text: string
}

/** Keys and indexes that lead to a value. */
export type ValuePath = readonly (string | number)[]

export interface SourceDocument {
  readonly value: unknown
  /** The place of the value at a path; of the nearest one above it if there is none. `key`: of the key in front of it. */
  place(path: ValuePath, part?: 'value' | 'key'): Place
}

/** The documents of a file, without empty ones. Mistakes are added to `mistakes`. */
export function documentsOf({ name, text }: SourceFile, mistakes: FileMistake[]): SourceDocument[] {
  const failed = (message: string, place: Partial<Place> = { line: 1, column: 1 }) => {
    mistakes.push({ file: name, ...place, field: '', message })
    return []
  }
  if (text.length > MAX_CHARACTERS) return failed(`the file has more than ${MAX_CHARACTERS} characters`)
  const lineCounter = new LineCounter()
  const at = (offset: number): Place => {
    const { line, col } = lineCounter.linePos(offset)
    return { file: name, line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  return [...parseAllDocuments(text, { ...PARSING, lineCounter })].flatMap((document) => {
    const tooDeep = document.errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION')
    const errors = tooDeep === undefined ? [...document.errors, ...document.warnings] : [tooDeep]
    for (const error of errors) failed(wordsOf(error), at(error.pos[0]))
    const { contents } = document
    // A separator at the end, or a file with comments only.
    if (errors.length > 0 || contents === null || (isScalar(contents) && contents.value === null)) return []
    let alias: unknown
    visit(document, {
      Alias(_, found) {
        alias = found
        return visit.BREAK
      },
    })
    if (alias !== undefined) return failed('aliases are not supported: write the value out', at(startOf(alias)))
    const place = (path: ValuePath, part: 'value' | 'key' = 'value') => at(offsetOf(contents, path, part))
    return [{ value: document.toJS(), place }]
  })
}

/** What the parser says, without the text of the file that it quotes: that may be a secret which needs quotes. */
function wordsOf({ code, message }: Pick<YAMLError, 'code' | 'message'>): string {
  if (code === 'RESOURCE_EXHAUSTION') return 'lists and objects are too deep in each other'
  if (code === 'TAG_RESOLVE_FAILED') return 'tags are not supported: put a text that begins with ! in quotes'
  if (code === 'BAD_DIRECTIVE') return 'the only directive is %YAML 1.2: put a text that begins with % in quotes'
  if (code === 'BAD_DQ_ESCAPE') return 'there is no such escape sequence: put a text with \\ in single quotes'
  return message.split(': ')[0] ?? message
}

const PARSING = {
  version: '1.2',
  schema: 'core',
  strict: true,
  uniqueKeys: true,
  stringKeys: true,
  merge: false,
  resolveKnownTags: false,
  prettyErrors: false,
} as const

/** Where the value at a path begins, or the nearest one above it. */
function offsetOf(node: unknown, [step, ...rest]: ValuePath, part: 'value' | 'key'): number {
  if (isSeq(node) && node.items[Number(step)] !== undefined) return offsetOf(node.items[Number(step)], rest, part)
  const pairs = isMap(node) && step !== undefined ? node.items : []
  const pair = pairs.find(({ key }) => isScalar(key) && isNamed(key.value, String(step)))
  if (pair === undefined) return startOf(node)
  const isKey = (part === 'key' && rest.length === 0) || pair.value === null
  return isKey ? startOf(pair.key) : offsetOf(pair.value, rest, part)
}

/** A field has two names in JSON: its own, and the one in camel case. */
function isNamed(key: unknown, step: string): boolean {
  return key === step || (typeof key === 'string' && protoCamelCase(key) === step)
}

function startOf(node: unknown): number {
  return (node as Node | null | undefined)?.range?.[0] ?? 0
}
