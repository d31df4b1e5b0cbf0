/**
 * Reads a configuration out of its files: the message that the server gets, what only the command line does, and the place of each value.
 *
 * A document is the JSON form of `iam.config.v2.Configuration` (decision 40). All of them together are one configuration.
 */
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { create, fromJson, type JsonObject } from '@bufbuild/protobuf'
import { type Configuration, ConfigurationSchema } from '../../gen/iam/config/v2/configuration_pb.js'
import { isSecretJwk } from '../domain/keys/jwk-members.ts'
import { type DecodingMistake, decodingMistakes } from './decoding-mistakes.ts'
import { ConfigurationMistakes, type FileMistake, inOrderOf } from './mistakes.ts'
import { documentsOf, type SourceDocument, type SourceFile } from './source-documents.ts'

/** A client secret that shall be handed over. */
export interface SecretRequest {
  readonly project: string
  readonly name: string
  /** Where to, as it stands in the file. */
  readonly into: string
  /** Of that, in the message. */
  readonly path: string
}

/** At a field of the message, such as `serviceUsers[3].publicKeys[0].publicJwk`. Empty: the whole of it. */
interface MessageMistake {
  readonly path: string
  readonly message: string
}

export interface FileConfiguration {
  /** Without `generateSecret`, which a server refuses. */
  readonly configuration: Configuration
  /** The users with `generateSecret`, in the order of the files. */
  readonly secrets: readonly SecretRequest[]
  /** Files without a document, beside others. */
  readonly emptyFiles: readonly string[]
  /** Mistakes of the message, in the files. */
  located(mistakes: readonly MessageMistake[]): FileMistake[]
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
    mistakes.push(...wrong.map((mistake) => mistakeAt(source, mistake)))
    return wrong.length > 0 ? [] : [{ part: fromJson(ConfigurationSchema, source.value as JsonObject), source }]
  })
  const parts = found.map(({ part }) => part)
  const [policy, another] = found.filter(({ part }) => part.rotationPolicy !== undefined)
  const configuration = create(ConfigurationSchema, {
    projects: parts.flatMap((part) => part.projects),
    serviceUsers: parts.flatMap((part) => part.serviceUsers),
    trustedIssuers: parts.flatMap((part) => part.trustedIssuers),
    ...(policy?.part.rotationPolicy && { rotationPolicy: policy.part.rotationPolicy }),
  })
  const secrets = configuration.serviceUsers.flatMap(({ project, name, generateSecret }, index) =>
    generateSecret === undefined
      ? []
      : [{ project, name, into: generateSecret.into, path: `serviceUsers[${index}].generateSecret.into` }],
  )
  const located: FileConfiguration['located'] = (all) =>
    inOrderOf(
      files,
      all.map((mistake) => locate(found, mistake)),
    )
  mistakes.push(...located([...privateKeysIn(configuration), ...targetMistakes(secrets)]))
  if (another !== undefined) {
    const message = 'there is another rotation policy before it'
    mistakes.push(mistakeAt(another.source, { path: ['rotationPolicy'], part: 'key', message }))
  }
  if (sources.length === 0 && mistakes.length === 0) mistakes.push({ field: '', message: 'there is no document in it' })
  if (mistakes.length > 0) throw new ConfigurationMistakes(inOrderOf(files, mistakes))
  return {
    configuration: {
      ...configuration,
      serviceUsers: configuration.serviceUsers.map(({ generateSecret: _, ...user }) => user),
    },
    secrets,
    emptyFiles: documents.filter((each) => each.sources.length === 0).map(({ file }) => file.name),
    located,
  }
}

function mistakeAt(source: SourceDocument, { path, part, message }: DecodingMistake): FileMistake {
  // As people write it, such as `publicKeys[0].kty`.
  const steps = path.map((step) => {
    if (typeof step === 'number') return `[${step}]`
    return /^\w+$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
  })
  return { ...source.place(path, part), field: steps.join('').replace(/^\./, ''), message }
}

/** In the document whose part of the list has the item. */
function locate(found: readonly Found[], { path, message }: MessageMistake): FileMistake {
  const steps = [...path.matchAll(/\[(\d+)\]|(\w+)/g)].map(([, index, name = '']) => (index ? Number(index) : name))
  const [list = '', index, ...inner] = steps
  let before = 0
  for (const { part, source } of found) {
    const value = part[list as keyof Configuration]
    if (list === 'rotationPolicy' && value !== undefined)
      return mistakeAt(source, { path: steps, part: 'value', message })
    if (typeof index !== 'number' || !Array.isArray(value)) continue
    const own = index - before
    if (own < value.length) return mistakeAt(source, { path: [list, own, ...inner], part: 'value', message })
    before += value.length
  }
  // Such as a limit on the whole of it.
  return { field: path, message }
}

/** Private keys must not be sent. */
function privateKeysIn({ serviceUsers, trustedIssuers }: Configuration): MessageMistake[] {
  const keys = serviceUsers.flatMap(({ publicKeys }, user) =>
    publicKeys.map(({ publicJwk: text }, index) => {
      return { path: `serviceUsers[${user}].publicKeys[${index}].publicJwk`, text }
    }),
  )
  const jwks = trustedIssuers.map((issuer, index) => {
    const { source } = issuer.keys ?? {}
    return { path: `trustedIssuers[${index}].keys.jwks`, text: source?.case === 'jwks' ? source.value : '' }
  })
  return [...keys, ...jwks].filter(({ text }) => isPrivate(text)).map(({ path }) => ({ path, message: PRIVATE_KEY }))
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

/** A file is for one secret. */
function targetMistakes(secrets: readonly SecretRequest[]): MessageMistake[] {
  return secrets.flatMap(({ into, path }, index) => {
    const isTaken = into.startsWith('file:') && secrets.slice(0, index).some((other) => other.into === into)
    const message = targetRefusal(into) ?? (isTaken ? `a secret of another user goes into ${into} already` : undefined)
    return message === undefined ? [] : [{ path, message }]
  })
}

/** Why an address cannot be a target; undefined if it can. */
function targetRefusal(into: string): string | undefined {
  const isFile = into.startsWith('file:')
  if (/\p{Cc}/u.test(into) || (isFile && /%(?:[01]|7f|c2%[89])/i.test(into)))
    return 'it has a control character, such as NUL or a line break'
  if (!/^(?:file:\/\/\/.+|command:\S.*)$/.test(into)) return 'it is file:///path or command:program arguments'
  if (!isFile || isWholePath(into)) return undefined
  return (
    'it is file:// and the whole path of a file: without . and .. as names, empty names, a query or a fragment; ' +
    'with %20 for a blank, %23 for #, %25 for % and %3F for ?'
  )
}

/** Whether reading a URL leaves nothing out and moves nothing, so that a secret goes to exactly what stands there. */
function isWholePath(url: string): boolean {
  try {
    const path = decodeURIComponent(url.slice('file://'.length))
    return !path.endsWith('/') && posix.normalize(path) === path && fileURLToPath(url, { windows: false }) === path
  } catch {
    return false
  }
}
