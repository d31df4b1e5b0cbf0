/**
 * The documents of YAML 1.2 and JSON files, each value with its place.
 *
 * YAML is read as the core schema alone: no tags of other types, no duplicate keys, no merge keys, and few aliases, so that a small file
 * cannot become a large configuration.
 */
import {
  type Alias,
  Composer,
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  visit,
  type YAMLError,
} from 'yaml'
import type { FileMistake, Place } from './mistakes.ts'
import { isTooDeep, shallowTokens, TOO_DEEP, TooDeep } from './nesting.ts'

/** The largest file, in characters. What is sent has at most 4 MiB. */
const MAX_CHARACTERS = 8 * 1024 * 1024

/** How often one value may stand in a document by aliases, counted through other aliases. */
const MAX_ALIASES = 100

/** A file that was read. */
export interface SourceFile {
  /** Its path as it was named. */
  readonly name: string
  readonly text: string
}

/** Keys and indexes that lead to a value. */
export type ValuePath = readonly PropertyKey[]

/** One document of a file. */
export interface SourceDocument {
  readonly value: unknown
  /** The place of the value at a path; of the nearest one above it if there is none. `key`: of the key in front of it. */
  place(path: ValuePath, part?: 'value' | 'key'): Place
}

/** The documents of a file, without empty ones; a top-level array in JSON is one document per item. Mistakes are added to `mistakes`. */
export function documentsOf({ name, text }: SourceFile, mistakes: FileMistake[]): SourceDocument[] {
  const failed = (message: string, place: Partial<Place> = { line: 1, column: 1 }) => {
    mistakes.push({ file: name, ...place, field: '', message })
    return []
  }
  if (text.length > MAX_CHARACTERS) return failed(`the file has more than ${MAX_CHARACTERS} characters`)
  if (name.endsWith('.json')) {
    const refusal = jsonRefusal(text)
    if (refusal !== undefined) return failed(refusal.message, refusal)
  }
  const lineCounter = new LineCounter()
  const at = (offset: number): Place => {
    const { line, col } = lineCounter.linePos(offset)
    return { file: name, line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  let documents: readonly Document[]
  try {
    documents = [...new Composer(PARSING).compose(shallowTokens(text, lineCounter.addNewLine))]
  } catch (error) {
    if (error instanceof TooDeep) return failed(error.message, at(error.offset))
    throw error
  }
  return documents.flatMap((document) => {
    for (const error of [...document.errors, ...document.warnings]) failed(wordsOf(error), at(error.pos[0]))
    if (document.errors.length + document.warnings.length > 0) return []
    const { contents } = document
    // A separator at the end, or a file with comments only.
    if (contents === null || (isScalar(contents) && contents.value === null)) return []
    const prototype = prototypeKeyIn(document)
    if (prototype !== undefined) return failed('__proto__ is no name of a field', at(startOf(prototype)))
    const wrongAlias = wrongAliasIn(document)
    if (wrongAlias !== undefined) return failed(wrongAlias.message, at(startOf(wrongAlias.alias)))
    const parsed = contentOf(document)
    if (parsed.kind === 'refused') return failed(parsed.message, at(startOf(parsed.node)))
    const place = (path: ValuePath, part: 'value' | 'key' = 'value') => at(offsetOf(document, path, part))
    const { value } = parsed
    if (!Array.isArray(value)) return [{ value, place }]
    return value.map((item, index) => ({ value: item, place: (path, part) => place([index, ...path], part) }))
  })
}

/** What the parser says, without the text of the file that it quotes: that may be a secret which needs quotes. */
function wordsOf({ code, message }: Pick<YAMLError, 'code' | 'message'>): string {
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

type Parsed =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly message: string; readonly node: unknown }

/** @param document Its aliases have been checked. */
function contentOf(document: Document): Parsed {
  try {
    const value = document.toJS({ maxAliasCount: MAX_ALIASES })
    return isTooDeep(value) ? { kind: 'refused', message: TOO_DEEP, node: document.contents } : { kind: 'value', value }
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error
    const message = `by aliases a value stands in this document more than ${MAX_ALIASES} times: write the values out`
    return { kind: 'refused', message, node: firstAliasIn(document) }
  }
}

/** An alias without a value. The library says so in its own words, or not at all. */
function wrongAliasIn(document: Document): { readonly alias: Alias; readonly message: string } | undefined {
  const anchors = new Map<string, Node>()
  let wrong: { readonly alias: Alias; readonly message: string } | undefined
  visit(document, {
    Node(_, node, path) {
      if (!isAlias(node)) {
        if (node.anchor !== undefined) anchors.set(node.anchor, node)
        return undefined
      }
      const target = anchors.get(node.source)
      if (target === undefined) wrong = { alias: node, message: 'no anchor of this name comes before this alias' }
      else if (path.includes(target)) wrong = { alias: node, message: 'this alias is in what it stands for' }
      return wrong === undefined ? undefined : visit.BREAK
    },
  })
  return wrong
}

function firstAliasIn(document: Document): unknown {
  let found: unknown
  visit(document, {
    Alias(_, alias) {
      found = alias
      return visit.BREAK
    },
  })
  return found
}

/** It means something else to programs in JavaScript than to others, and some drop it. */
function prototypeKeyIn(document: Document): unknown {
  let found: unknown
  visit(document, {
    Pair(_, { key }) {
      if (!isScalar(key) || key.value !== '__proto__') return undefined
      found = key
      return visit.BREAK
    },
  })
  return found
}

function offsetOf(document: Document, path: ValuePath, part: 'value' | 'key'): number {
  let node: unknown = document.contents
  let offset = startOf(node)
  for (const [depth, step] of path.entries()) {
    const collection = isAlias(node) ? node.resolve(document) : node
    const isLast = depth === path.length - 1
    if (isMap(collection)) {
      const pair = collection.items.find(({ key }) => isScalar(key) && key.value === String(step))
      if (pair === undefined || !isPair(pair)) return offset
      node = pair.value
      offset = (part === 'key' && isLast) || node === null ? startOf(pair.key) : startOf(node)
    } else if (isSeq(collection)) {
      node = collection.items[Number(step)]
      if (node === undefined) return offset
      offset = startOf(node)
    } else return offset
  }
  return offset
}

function startOf(node: unknown): number {
  return (node as Node | null | undefined)?.range?.[0] ?? 0
}

/** YAML has nearly all of JSON, and comments and trailing commas beside. */
function jsonRefusal(text: string): { message: string; line: number; column: number } | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const [, line = '1', column = '1'] = /\(line (\d+) column (\d+)\)/.exec(message) ?? []
    // The text around the place may be of a secret that stands there by mistake.
    return { message: 'this is not JSON (RFC 8259)', line: Number(line), column: Number(column) }
  }
}
