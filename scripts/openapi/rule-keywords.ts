/**
 * The rules of a field as keywords of JSON Schema.
 */
import { type DescEnum, type DescField, type DescMessage, isFieldSet, type Message } from '@bufbuild/protobuf'
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt'
import {
  type EnumRules,
  EnumRulesSchema,
  type FieldRules,
  FieldRulesSchema,
  Ignore,
  type Int32Rules,
  Int32RulesSchema,
  type RepeatedRules,
  RepeatedRulesSchema,
  type StringRules,
  StringRulesSchema,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { assertKnownRules } from '../known-rules.ts'
import type { Json } from './json.ts'

/**
 * The keywords that say what a rule says about a value that is there. Enums need none to be of defined values only: their schema
 * names those.
 *
 * @param named The enum of a field that has one.
 * @throws {Error} if a rule has no keyword here.
 */
export function keywordsOf(rules: FieldRules, named: DescEnum | undefined): Json {
  known(FieldRulesSchema, rules, ['required', 'ignore', 'int32', 'string', 'enum', 'repeated'])
  const keywords = { ...typeKeywords(rules, named), ...(rules.required ? withoutZero(named) : {}) }
  if (rules.ignore !== Ignore.IF_ZERO_VALUE) return keywords
  if (rules.type.case !== 'string') throw new Error('no keyword for a rule that ignores zero values of this type')
  return { anyOf: [{ type: 'string', ...keywords }, { const: '' }] }
}

/** Whether a message without the field breaks its rules: what is not there has the zero value. */
export function isRequired(rules: FieldRules, { presence }: DescField): boolean {
  if (rules.required) return true
  if (rules.ignore === Ignore.IF_ZERO_VALUE || presence === FeatureSet_FieldPresence.EXPLICIT) return false
  switch (rules.type.case) {
    case 'string':
      return refusesEmpty(rules.type.value)
    case 'int32':
      return (rules.type.value.greaterThan.value ?? 0) > 0 || (rules.type.value.lessThan.value ?? 0) < 0
    case 'enum':
      return rules.type.value.notIn.includes(0)
    default:
      return false
  }
}

function refusesEmpty({ minLen, pattern, wellKnown }: StringRules): boolean {
  return minLen > 0n || wellKnown.case === 'uuid' || (pattern !== '' && !new RegExp(pattern, 'u').test(''))
}

/** A required field without presence must not have its zero value. */
function withoutZero(named: DescEnum | undefined): Json {
  return named === undefined ? {} : { not: { enum: [named.value[0]?.name] } }
}

function typeKeywords({ type }: FieldRules, named: DescEnum | undefined): Json {
  switch (type.case) {
    case 'string':
      return stringKeywords(type.value)
    case 'int32':
      return int32Keywords(type.value)
    case 'enum':
      return enumKeywords(type.value, named)
    case 'repeated':
      return repeatedKeywords(type.value, named)
    default:
      return {}
  }
}

function stringKeywords(rules: StringRules): Json {
  known(StringRulesSchema, rules, ['uuid', 'min_len', 'max_len', 'pattern'])
  return {
    ...(rules.wellKnown.case === 'uuid' ? { format: 'uuid' } : {}),
    ...(isFieldSet(rules, StringRulesSchema.field.minLen) ? { minLength: Number(rules.minLen) } : {}),
    ...(isFieldSet(rules, StringRulesSchema.field.maxLen) ? { maxLength: Number(rules.maxLen) } : {}),
    // The patterns are in the part that RE2 and ECMA-262 share: they compile here with the flag that JSON Schema names.
    ...(rules.pattern === '' ? {} : { pattern: new RegExp(rules.pattern, 'u').source }),
  }
}

function int32Keywords(rules: Int32Rules): Json {
  known(Int32RulesSchema, rules, ['gte', 'lte'])
  const { greaterThan, lessThan } = rules
  return {
    ...(greaterThan.value === undefined ? {} : { minimum: greaterThan.value }),
    ...(lessThan.value === undefined ? {} : { maximum: lessThan.value }),
  }
}

function enumKeywords(rules: EnumRules, named: DescEnum | undefined): Json {
  known(EnumRulesSchema, rules, ['defined_only', 'not_in'])
  const refused = rules.notIn.map((number) => named?.value[number]?.name)
  return refused.length === 0 ? {} : { not: { enum: refused } }
}

function repeatedKeywords(rules: RepeatedRules, named: DescEnum | undefined): Json {
  known(RepeatedRulesSchema, rules, ['max_items', 'unique', 'items'])
  return {
    ...(rules.maxItems === 0n ? {} : { maxItems: Number(rules.maxItems) }),
    ...(rules.unique ? { uniqueItems: true } : {}),
    ...(rules.items === undefined ? {} : { items: keywordsOf(rules.items, named) }),
  }
}

function known(schema: DescMessage, rules: Message, names: readonly string[]): void {
  assertKnownRules(schema, rules, { names, form: 'keyword' })
}
