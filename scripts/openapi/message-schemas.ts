/**
 * The schemas of messages and enums in the JSON of protobuf (ProtoJSON), with the rules of protovalidate.
 *
 * Requests are closed, because the server refuses what it does not know; responses are open, because later versions may add to them. A
 * message that is in both has two schemas, and that of requests has `Input` at the end of its name.
 */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescMethod,
  getOption,
  hasOption,
  ScalarType,
} from '@bufbuild/protobuf'
import {
  type FieldRules,
  field as fieldRules,
  oneof as oneofRules,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import type { CommentOf } from './comments.ts'
import { type Json, refTo } from './json.ts'
import { isRequired, keywordsOf } from './rule-keywords.ts'

/** Messages whose JSON is a string. */
const AS_STRINGS: Readonly<Record<string, Json>> = {
  'google.protobuf.Timestamp': { type: 'string', format: 'date-time' },
  // A longer one than of 315,576,000,000 s cannot be decoded, and no field takes one of twelve digits.
  'google.protobuf.Duration': { type: 'string', pattern: '^-?[0-9]{1,11}(\\.[0-9]{1,9})?s$', examples: ['86400s'] },
  // Paths in lowerCamelCase.
  'google.protobuf.FieldMask': { type: 'string', pattern: '^([A-Za-z0-9]+([.,][A-Za-z0-9]+)*)?$' },
}

const SCALARS: Readonly<Partial<Record<ScalarType, Json>>> = {
  [ScalarType.BOOL]: { type: 'boolean' },
  [ScalarType.INT32]: { type: 'integer', format: 'int32' },
  // Not all of nineteen digits can be decoded, and no field takes them.
  [ScalarType.INT64]: { type: 'string', format: 'int64', pattern: '^-?[0-9]{1,18}$' },
  [ScalarType.STRING]: { type: 'string' },
}

/** Who sends a message. */
type Use = 'request' | 'response'

export class MessageSchemas {
  readonly #commentOf: CommentOf
  readonly #uses: Readonly<Record<Use, ReadonlySet<DescMessage | DescEnum>>>

  /** @param details Messages that are sent without being the response of a method. */
  constructor(methods: readonly DescMethod[], details: readonly DescMessage[], commentOf: CommentOf) {
    this.#commentOf = commentOf
    this.#uses = {
      request: reachableFrom(methods.map(({ input }) => input)),
      response: reachableFrom([...methods.map(({ output }) => output), ...details]),
    }
  }

  /** A reference to the schema of a message or an enum. */
  refTo(type: DescMessage | DescEnum, use: Use): Json {
    return refTo('schemas', this.#nameOf(type, use))
  }

  /** All schemas by name. @throws {Error} if something in a message has no schema here. */
  components(): Json {
    const uses = ['request', 'response'] as const
    const named = uses.flatMap((use) =>
      [...this.#uses[use]].map((type) => [this.#nameOf(type, use), this.#schemaOf(type, use)] as const),
    )
    return Object.fromEntries(named.sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  #nameOf(type: DescMessage | DescEnum, use: Use): string {
    const isInBoth = type.kind === 'message' && use === 'request' && this.#uses.response.has(type)
    return isInBoth ? `${type.typeName}Input` : type.typeName
  }

  #schemaOf(type: DescMessage | DescEnum, use: Use): Json {
    if (type.kind === 'enum') return this.#enumSchema(type)
    const description = this.#commentOf(type)
    const plain = type.fields.filter(({ oneof }) => oneof === undefined)
    const [oneof, ...others] = type.oneofs
    if (oneof === undefined) return { description, ...this.#objectOf(plain, use) }
    if (others.length > 0 || !getOption(oneof, oneofRules).required) {
      throw new Error(`no schema for ${type.typeName}, which has several oneofs or one that may be unset`)
    }
    return {
      description,
      oneOf: oneof.fields.map((field) => ({
        // Generators name a class by it, so that it must be unique.
        title: `${this.#nameOf(type, use)}.${field.jsonName}`,
        ...this.#objectOf([...plain, field], use, field),
      })),
    }
  }

  #enumSchema(type: DescEnum): Json {
    const values = type.values.map((value) => `- \`${value.name}\`: ${this.#commentOf(value)}`)
    return {
      type: 'string',
      description: [this.#commentOf(type), values.join('\n')].join('\n\n'),
      enum: type.values.map(({ name }) => name),
      ...variableNames(type),
    }
  }

  /** @param chosen A field that must be there, whatever its rules say. */
  #objectOf(fields: readonly DescField[], use: Use, chosen?: DescField): Json {
    const isMandatory = (field: DescField) =>
      field === chosen || (use === 'request' && isRequired(rulesOf(field), field))
    const required = fields.filter(isMandatory).map(({ jsonName }) => jsonName)
    return {
      type: 'object',
      ...(fields.length === 0
        ? {}
        : { properties: Object.fromEntries(fields.map((field) => [field.jsonName, this.#propertyOf(field, use)])) }),
      ...(required.length === 0 ? {} : { required }),
      ...(use === 'request' ? { additionalProperties: false } : {}),
    }
  }

  #propertyOf(field: DescField, use: Use): Json {
    const { items = {}, ...keywords } =
      use === 'request' && hasOption(field, fieldRules) ? keywordsOf(rulesOf(field), field.enum) : {}
    const type = this.#typeOf(field, use)
    const description = this.#commentOf(field)
    switch (field.fieldKind) {
      case 'list':
        return { type: 'array', description, items: { ...type, ...(items as Json) }, ...keywords }
      case 'map':
        return { type: 'object', description, additionalProperties: type }
      default:
        // An alternative has the type in it.
        return 'anyOf' in keywords ? { description, ...keywords } : { ...type, description, ...keywords }
    }
  }

  /** Of the field, or of one of its values. */
  #typeOf({ parent, name, enum: named, message, scalar }: DescField, use: Use): Json {
    const schema = message === undefined ? SCALARS[scalar ?? ScalarType.BYTES] : AS_STRINGS[message.typeName]
    const type = named ?? message
    if (type !== undefined && schema === undefined) return this.refTo(type, use)
    if (schema === undefined) throw new Error(`no schema for the type of ${parent.typeName}.${name}`)
    return schema
  }
}

function rulesOf(field: DescField): FieldRules {
  return getOption(field, fieldRules)
}

/** The messages, and all messages and enums in them that have a schema of their own. */
function reachableFrom(messages: readonly DescMessage[]): ReadonlySet<DescMessage | DescEnum> {
  const reached = new Set<DescMessage | DescEnum>()
  const visit = (type: DescMessage | DescEnum | undefined): void => {
    if (type === undefined || reached.has(type) || type.typeName in AS_STRINGS) return
    reached.add(type)
    if (type.kind === 'message') for (const field of type.fields) visit(field.enum ?? field.message)
  }
  messages.forEach(visit)
  return reached
}

/** For generators whose constants have no name of an enum before them: those of a beta have the names of the version after it. */
function variableNames({ file, values }: DescEnum): Json {
  const [version = ''] = /v\d+beta\d*$/.exec(file.proto.package) ?? []
  return version === '' ? {} : { 'x-enum-varnames': values.map(({ name }) => `${version.toUpperCase()}_${name}`) }
}
