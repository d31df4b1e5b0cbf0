/**
 * Says the rules of a field and the permission of a method in words, for people who do not have the schemas of these options.
 */
import {
  type DescEnum,
  type DescMessage,
  type DescMethod,
  getOption,
  isFieldSet,
  type Message,
} from '@bufbuild/protobuf'
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
import { required_permission } from '../gen/iam/auth/v1/permission_pb.js'
import { assertKnownRules } from './known-rules.ts'

/** The permission that the caller of a method needs, as a sentence. */
export function permissionInWords(method: DescMethod): string {
  return `Needs the permission \`${getOption(method, required_permission)}\`.`
}

/**
 * One phrase for each rule, such as `1 to 200 characters`.
 *
 * @param named The enum of a field that has one.
 * @throws {Error} if a rule has no words here.
 */
export function rulesInWords(rules: FieldRules, named: DescEnum | undefined): string[] {
  known(FieldRulesSchema, rules, ['required', 'ignore', 'int32', 'string', 'enum', 'repeated'])
  return [
    ...(rules.required ? ['required'] : []),
    ...typeRules(rules, named).map((words) => (rules.ignore === Ignore.IF_ZERO_VALUE ? `${words}, or empty` : words)),
  ]
}

function typeRules({ type }: FieldRules, named: DescEnum | undefined): string[] {
  switch (type.case) {
    case 'string':
      return stringRules(type.value)
    case 'int32':
      return int32Rules(type.value)
    case 'enum':
      return enumRules(type.value, named)
    case 'repeated':
      return repeatedRules(type.value, named)
    default:
      return []
  }
}

function stringRules(rules: StringRules): string[] {
  known(StringRulesSchema, rules, ['uuid', 'min_len', 'max_len', 'pattern'])
  const [minLen, maxLen] = [
    isFieldSet(rules, StringRulesSchema.field.minLen),
    isFieldSet(rules, StringRulesSchema.field.maxLen),
  ]
  return [
    ...(rules.wellKnown.case === 'uuid' ? ['a UUID'] : []),
    ...(minLen || maxLen
      ? [`${range(minLen ? rules.minLen : undefined, maxLen ? rules.maxLen : undefined)} characters`]
      : []),
    ...(rules.pattern === '' ? [] : [`matches \`${rules.pattern}\` (RE2)`]),
  ]
}

function int32Rules(rules: Int32Rules): string[] {
  known(Int32RulesSchema, rules, ['gte', 'lte'])
  return [range(rules.greaterThan.value, rules.lessThan.value)]
}

function range(from: bigint | number | undefined, to: bigint | number | undefined): string {
  if (to === undefined) return `at least ${from}`
  return from === undefined ? `up to ${to}` : `${from} to ${to}`
}

function enumRules(rules: EnumRules, named: DescEnum | undefined): string[] {
  known(EnumRulesSchema, rules, ['defined_only', 'not_in'])
  const refused = rules.notIn.map((number) => `\`${named?.value[number]?.name}\``)
  return [
    ...(rules.definedOnly ? ['a value of the enum'] : []),
    ...(refused.length === 0 ? [] : [`not ${refused.join(' or ')}`]),
  ]
}

function repeatedRules(rules: RepeatedRules, named: DescEnum | undefined): string[] {
  known(RepeatedRulesSchema, rules, ['max_items', 'unique', 'items'])
  return [
    ...(rules.maxItems === 0n ? [] : [`at most ${rules.maxItems}`]),
    ...(rules.unique ? ['none twice'] : []),
    ...(rules.items === undefined ? [] : rulesInWords(rules.items, named).map((words) => `each ${words}`)),
  ]
}

function known(schema: DescMessage, rules: Message, names: readonly string[]): void {
  assertKnownRules(schema, rules, { names, form: 'words' })
}
