/**
 * How much a configuration may have in it, found out before anything of it is looked at: a message of 4 MiB can have hundreds of thousands of
 * values, and each would be a mistake of its own.
 */
import type { DescMessage, Message } from '@bufbuild/protobuf'
import { reflect } from '@bufbuild/protobuf/reflect'
import { MAX_CONFIGURED_USERS } from '../../domain/configuration/configuration.ts'
import type { Mistake } from '../../domain/configuration/mistakes.ts'

/** Of one list. No list may be longer than that of the service users. */
const MAX_ITEMS = MAX_CONFIGURED_USERS

/** Of all lists together: ten for each of the most service users. */
const MAX_VALUES = 50_000

/** Lists that are too long, the first of them alone. None: the size is no reason to refuse it. */
export function oversizedIn(type: DescMessage, message: Message): readonly Mistake[] {
  const size = { values: 0 }
  const path = longListIn(type, message, size)
  if (path === undefined) return []
  const limit = size.values > MAX_VALUES ? `${MAX_VALUES} values in all its lists` : `${MAX_ITEMS} items in a list`
  const text = `a configuration has at most ${limit}: apply it in parts, with a label for each`
  return [{ path, message: text, code: 'configuration_too_large' }]
}

function longListIn(type: DescMessage, message: Message, size: { values: number }): string | undefined {
  const reflected = reflect(type, message)
  for (const field of type.fields) {
    if (field.fieldKind !== 'list') continue
    const list = reflected.get(field)
    size.values += list.size
    if (list.size > MAX_ITEMS || size.values > MAX_VALUES) return field.jsonName
    if (field.listKind !== 'message') continue
    for (const [index, item] of [...list].entries()) {
      const below = longListIn(field.message, (item as { message: Message }).message, size)
      if (below !== undefined) return `${field.jsonName}[${index}].${below}`
    }
  }
  return undefined
}
