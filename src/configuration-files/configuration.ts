/**
 * Reads a configuration out of its files: the message that the server gets, what only the command line does, and the place of each value.
 *
 * A document is the JSON form of `iam.config.v2.Configuration` (decision 40). All of them together are one configuration.
 */
import { create, fromJson, type JsonObject } from '@bufbuild/protobuf'
import { type Configuration, ConfigurationSchema } from '../../gen/iam/config/v2/configuration_pb.js'
import { isSecretJwk } from '../domain/keys/jwk-members.ts'
import { decodingMistakes } from './decoding-mistakes.ts'
import { ConfigurationMistakes, type FileMistake, formatPlace, inOrderOf, type Place } from './mistakes.ts'
import { documentsOf, type SourceDocument, type SourceFile, type ValuePath } from './source-documents.ts'
import { sameTarget, targetRefusal } from './target-address.ts'

/** A client secret that shall be handed over. */
export interface SecretRequest {
  readonly project: string
  readonly name: string
  /** Where to, as it stands in the file. */
  readonly into: string
  readonly place: Place
}

export interface FileConfiguration {
  /** Without `generateSecret`, which a server refuses. */
  readonly configuration: Configuration
  /** The users with `generateSecret`, in the order of the files. */
  readonly secrets: readonly SecretRequest[]
  /** Files without a document, beside others. */
  readonly emptyFiles: readonly string[]
  /** Mistakes that the server found at fields of the message, such as `serviceUsers[3].publicKeys[0].publicJwk`, in the files. */
  located(mistakes: readonly { readonly path: string; readonly message: string }[]): FileMistake[]
}

/** A document that could be read, and where it stands. */
interface Found {
  readonly part: Configuration
  readonly source: SourceDocument
}

const PRIVATE_KEY =
  'it is a private key: write the public key only, and replace this key, which others may have read by now'

/** @throws {ConfigurationMistakes} with all mistakes that can be known without the server. */
export function parseConfiguration(files: readonly SourceFile[]): FileConfiguration {
  const mistakes: FileMistake[] = []
  const documents = files.map((file) => ({ file, sources: documentsOf(file, mistakes) }))
  const sources = documents.flatMap((each) => each.sources)
  const found = sources.flatMap((source): Found[] => {
    const wrong = decodingMistakes(ConfigurationSchema, source.value)
    mistakes.push(...wrong.map(({ path, part, message }) => mistakeAt(source, { path, part, message })))
    if (wrong.length > 0) return []
    const part = fromJson(ConfigurationSchema, source.value as JsonObject)
    mistakes.push(...privateKeysIn(part).map((path) => mistakeAt(source, { path, message: PRIVATE_KEY })))
    return [{ part, source }]
  })
  const secrets = found.flatMap((each) => secretsIn(each, mistakes))
  mistakes.push(...twice(found, secrets))
  if (sources.length === 0 && mistakes.length === 0) mistakes.push({ field: '', message: 'there is no document in it' })
  if (mistakes.length > 0) throw new ConfigurationMistakes(inOrderOf(files, mistakes))
  const parts = found.map(({ part }) => part)
  const rotationPolicy = parts.find((part) => part.rotationPolicy !== undefined)?.rotationPolicy
  return {
    configuration: create(ConfigurationSchema, {
      projects: parts.flatMap((part) => part.projects),
      serviceUsers: parts.flatMap((part) => part.serviceUsers).map(({ generateSecret: _, ...user }) => user),
      trustedIssuers: parts.flatMap((part) => part.trustedIssuers),
      ...(rotationPolicy === undefined ? {} : { rotationPolicy }),
    }),
    secrets,
    emptyFiles: documents.filter((each) => each.sources.length === 0).map(({ file }) => file.name),
    located(others) {
      const located = others.map(({ path, message }) => locate(found, path, message))
      return inOrderOf(files, located)
    },
  }
}

function mistakeAt(
  source: SourceDocument,
  { path, part, message }: { readonly path: ValuePath; readonly part?: 'key' | 'value'; readonly message: string },
): FileMistake {
  return { ...source.place(path, part), field: fieldOf(path), message }
}

/** A path as people write it, such as `publicKeys[0].kty`. */
function fieldOf(path: ValuePath): string {
  const steps = path.map((step) => {
    if (typeof step === 'number') return `[${step}]`
    return /^\w+$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
  })
  return steps.join('').replace(/^\./, '')
}

/** The paths of private keys, which must not be sent. */
function privateKeysIn({ serviceUsers, trustedIssuers }: Configuration): ValuePath[] {
  return [
    ...serviceUsers.flatMap(({ publicKeys }, user) =>
      publicKeys.flatMap(({ publicJwk }, index): ValuePath[] =>
        isPrivate(publicJwk) ? [['serviceUsers', user, 'publicKeys', index, 'publicJwk']] : [],
      ),
    ),
    ...trustedIssuers.flatMap(({ keys }, issuer): ValuePath[] =>
      keys?.source.case === 'jwks' && isPrivate(keys.source.value) ? [['trustedIssuers', issuer, 'keys', 'jwks']] : [],
    ),
  ]
}

/** Whether a text is a private JWK, or a JWK Set with one. */
function isPrivate(text: string): boolean {
  try {
    const value = JSON.parse(text)
    return [value, ...(Array.isArray(value?.keys) ? value.keys : [])].some(
      (key) => typeof key === 'object' && key !== null && isSecretJwk(key),
    )
  } catch {
    return false
  }
}

function secretsIn({ part, source }: Found, mistakes: FileMistake[]): SecretRequest[] {
  return part.serviceUsers.flatMap(({ project, name, generateSecret }, index) => {
    if (generateSecret === undefined) return []
    const { into } = generateSecret
    const path = ['serviceUsers', index, 'generateSecret', 'into']
    const message = targetRefusal(into)
    if (message !== undefined) mistakes.push(mistakeAt(source, { path, message }))
    return [{ project, name, into, place: source.place(path) }]
  })
}

/** What one configuration cannot have twice. The server looks for resources of one name. */
function twice(found: readonly Found[], secrets: readonly SecretRequest[]): FileMistake[] {
  const policies = found
    .filter(({ part }) => part.rotationPolicy !== undefined)
    .map(({ source }) => source.place(['rotationPolicy'], 'key'))
    .map((place) => ({ name: 'a rotation policy', field: 'rotationPolicy', place }))
  const targets = secrets
    .filter(({ into }) => !into.startsWith('command:'))
    .map(({ into, place }) => ({ name: `a secret into ${sameTarget(into)}`, field: 'generateSecret.into', place }))
  const first = new Map<string, Place>()
  return [...policies, ...targets].flatMap(({ name, field, place }) => {
    const other = first.get(name)
    if (other !== undefined) return [{ ...place, field, message: `${name} is at ${formatPlace(other)} already` }]
    first.set(name, place)
    return []
  })
}

/** In the document whose part of the list has the item. */
function locate(found: readonly Found[], field: string, message: string): FileMistake {
  const [, list = '', index, rest = ''] = /^(\w+)(?:\[(\d+)\])?(.*)$/s.exec(field) ?? []
  const inner = [...rest.matchAll(/\[(\d+)\]|\.?(\w+)/g)].map(([, step, name = '']) => (step ? Number(step) : name))
  let before = 0
  for (const { part, source } of found) {
    const value = part[list as keyof Configuration]
    if (index === undefined && list === 'rotationPolicy' && value !== undefined) {
      return mistakeAt(source, { path: [list, ...inner], message })
    }
    if (index === undefined || !Array.isArray(value)) continue
    const own = Number(index) - before
    if (own < value.length) return mistakeAt(source, { path: [list, own, ...inner], message })
    before += value.length
  }
  // Such as a limit on the whole of it.
  return { field, message }
}
