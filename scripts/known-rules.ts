/**
 * Keeps generators from leaving out a rule of protovalidate that they do not know.
 */
import { type DescMessage, isFieldSet, type Message } from '@bufbuild/protobuf'

/**
 * @param names The rules that the generator knows.
 * @param form What it makes of a rule, such as `words`.
 * @throws {Error} if there is another rule.
 */
export function assertKnownRules(
  schema: DescMessage,
  rules: Message,
  { names, form }: { readonly names: readonly string[]; readonly form: string },
): void {
  const unknown = schema.fields.filter((field) => isFieldSet(rules, field) && !names.includes(field.name))
  if (unknown.length > 0) throw new Error(`no ${form} for ${unknown.map(({ name }) => name).join(', ')}`)
}
