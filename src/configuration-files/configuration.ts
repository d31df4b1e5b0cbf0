/**
 * Reads a configuration out of its files: the message that the server gets, what only the command line does, and the place of each value.
 */
import type { z } from 'zod'
import type { Configuration } from '../../gen/iam/config/v2/configuration_pb.js'
import { ConfigurationMistakes, type FileMistake, formatPlace, inOrderOf, type Place } from './mistakes.ts'
import { type ConfigurationDocument, configurationDocument } from './schema.ts'
import { documentsOf, type SourceDocument, type SourceFile, type ValuePath } from './source-documents.ts'
import { sameTarget } from './target-address.ts'
import { configurationOf, LISTS } from './to-message.ts'

/** A client secret that shall be handed over. */
export interface SecretRequest {
  readonly project: string
  readonly name: string
  /** Where to, as it stands in the file. */
  readonly into: string
  readonly place: Place
}

/** What the files say. */
export interface FileConfiguration {
  readonly configuration: Configuration
  /** The users with `generateSecret`, in the order of the files. */
  readonly secrets: readonly SecretRequest[]
  /** Files without a document, beside others. */
  readonly emptyFiles: readonly string[]
  /** Mistakes that the server found at fields of the message, such as `serviceUsers[3].publicKeys[0].publicJwk`, in the files. */
  located(mistakes: readonly { readonly path: string; readonly message: string }[]): FileMistake[]
}

/** A valid document and where it stands. */
interface Found<Document extends ConfigurationDocument = ConfigurationDocument> {
  readonly document: Document
  readonly source: SourceDocument
}

/** @throws {ConfigurationMistakes} with all mistakes that can be known without the server. */
export function parseConfiguration(files: readonly SourceFile[]): FileConfiguration {
  const mistakes: FileMistake[] = []
  const documents = files.map((file) => ({ file, sources: documentsOf(file, mistakes) }))
  const sources = documents.flatMap((each) => each.sources)
  const found = sources.flatMap((source): Found[] => {
    const { success, data, error } = configurationDocument.safeParse(source.value)
    if (success) return [{ document: data, source }]
    mistakes.push(...error.issues.flatMap((issue) => mistakesOf(issue, source)))
    return []
  })
  mistakes.push(...duplicatesIn(found))
  if (sources.length === 0 && mistakes.length === 0) mistakes.push({ field: '', message: 'there is no document in it' })
  if (mistakes.length > 0) throw new ConfigurationMistakes(inOrderOf(files, mistakes))
  return {
    configuration: configurationOf(found.map(({ document }) => document)),
    secrets: found.flatMap(secretRequestOf),
    emptyFiles: documents.filter((each) => each.sources.length === 0).map(({ file }) => file.name),
    located: (others) =>
      inOrderOf(
        files,
        others.map(({ path, message }) => locate(found, path, message)),
      ),
  }
}

function secretRequestOf({ document, source }: Found): SecretRequest[] {
  if (document.kind !== 'ServiceUser' || document.generateSecret === undefined) return []
  const { project, name, generateSecret } = document
  return [{ project, name, into: generateSecret.into, place: source.place(['generateSecret', 'into']) }]
}

type Issue = z.core.$ZodIssue

function mistakesOf(issue: Issue, source: SourceDocument): FileMistake[] {
  const { path } = issue
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const at = [...path, key]
      return { ...source.place(at, 'key'), field: fieldOf(at), message: 'there is no such field' }
    })
  }
  if (issue.code === 'invalid_union' && issue.path.length === 1 && path[0] === 'kind') {
    return [{ ...source.place(path), field: 'kind', message: `it must be one of ${Object.keys(LISTS).join(', ')}` }]
  }
  if (issue.code === 'invalid_key') {
    const [reason] = issue.issues
    return [{ ...source.place(path, 'key'), field: fieldOf(path), message: reason?.message ?? issue.message }]
  }
  return [{ ...source.place(path), field: fieldOf(path), message: messageOf(issue) }]
}

function messageOf(issue: Issue): string {
  if (issue.code === 'invalid_type') {
    const [, received] = /^Invalid input: .* received (\w+)$/.exec(issue.message) ?? []
    if (received === undefined) return issue.message
    if (received === 'undefined') return 'it is required'
    const isPlain = issue.expected === 'string' && ['number', 'boolean'].includes(received)
    return `it must be ${article(issue.expected)}, and is ${article(received)}${isPlain ? ': put it in quotes' : ''}`
  }
  if (issue.code === 'invalid_value') return `it must be one of ${issue.values.join(', ')}`
  return issue.message.replace(/^Invalid input: /, '').replace(/^Too (?:big|small): expected \w+ /, 'it must be ')
}

function article(type: string): string {
  if (type === 'null') return 'empty'
  const name = { record: 'object', int: 'whole number' }[type] ?? type
  return `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`
}

/** A path as people write it, such as `publicKeys[0].kty`. */
function fieldOf(path: ValuePath): string {
  return path
    .map((step) =>
      typeof step === 'number'
        ? `[${step}]`
        : /^\w+$/.test(String(step))
          ? `.${String(step)}`
          : `[${JSON.stringify(step)}]`,
    )
    .join('')
    .replace(/^\./, '')
}

/** Resources that stand in the files twice, and targets of two secrets. */
function duplicatesIn(found: readonly Found[]): FileMistake[] {
  const first = new Map<string, Place>()
  return found.flatMap(({ document, source }) =>
    namesOf(document).flatMap(({ name, path }) => {
      const other = first.get(name)
      const place = source.place(path)
      if (other === undefined) {
        first.set(name, place)
        return []
      }
      return [{ ...place, field: fieldOf(path), message: `${name} is at ${formatPlace(other)} already` }]
    }),
  )
}

function namesOf(document: ConfigurationDocument): { name: string; path: ValuePath }[] {
  switch (document.kind) {
    case 'Project':
      return [{ name: `the project ${document.name}`, path: ['name'] }]
    case 'ServiceUser': {
      const { project, name, generateSecret } = document
      const user = { name: `the service user ${name}@${project}`, path: ['name'] }
      if (generateSecret === undefined || generateSecret.into.startsWith('command:')) return [user]
      return [user, { name: `a secret into ${sameTarget(generateSecret.into)}`, path: ['generateSecret', 'into'] }]
    }
    case 'TrustedIssuer':
      return [{ name: `the trusted issuer ${document.issuer}`, path: ['issuer'] }]
    case 'RotationPolicy':
      return [{ name: 'a rotation policy', path: ['kind'] }]
  }
}

function locate(found: readonly Found[], field: string, message: string): FileMistake {
  const [, list = '', index, rest = ''] = /^(\w+)(?:\[(\d+)\])?(.*)$/s.exec(field) ?? []
  const ofKind = found.filter(({ document }) => LISTS[document.kind] === list)
  const source = ofKind[list === LISTS.RotationPolicy ? 0 : Number(index)]?.source
  // Such as a limit on the whole of it.
  if (source === undefined) return { field, message }
  const path = pathIn(source.value, rest)
  return { ...source.place(path), field: fieldOf(path), message }
}

/**
 * The path in a document that stands for one in the message. A list of the message that is an object in files is in the order of its members, and
 * what only the message has, such as `match` of a certificate, is left out.
 */
function pathIn(document: unknown, field: string): ValuePath {
  const path: PropertyKey[] = []
  let value = document
  for (const [, index, name = ''] of field.matchAll(/\[(\d+)\]|\.?(\w+)/g)) {
    if (typeof value !== 'object' || value === null) break
    if (index !== undefined) {
      const step = Array.isArray(value) ? Number(index) : Object.keys(value)[Number(index)]
      if (step === undefined) break
      path.push(step)
    } else if (!Array.isArray(value) && Object.hasOwn(value, name)) path.push(name)
    else continue
    value = (value as Record<PropertyKey, unknown>)[path.at(-1) as PropertyKey]
  }
  return path
}
