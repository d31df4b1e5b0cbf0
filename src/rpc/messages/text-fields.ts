/**
 * What holds for the texts of every request, before any rule of its own.
 */
import type { DescMessage } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import type { Interceptor } from '@connectrpc/connect'
import { isUuid } from '../../domain/uuid.ts'
import { invalidField } from './violations.ts'

/**
 * Gives UUIDs their one spelling, in lower case (RFC 9562 §4), and refuses NUL, which no database text can have.
 *
 * Ids of other kinds are left alone: they are only ever compared.
 */
export function normalizeTexts(): Interceptor {
  return (next) => (req) => {
    // The message has just been decoded for this call, so nobody else sees it change.
    if (!req.stream) normalize(req.method.input, req.message as unknown as Record<string, unknown>)
    return next(req)
  }
}

function normalize(type: DescMessage, message: Record<string, unknown>): void {
  for (const field of type.fields) {
    if (field.fieldKind !== 'scalar' || field.scalar !== ScalarType.STRING) continue
    const text = message[field.localName]
    if (typeof text !== 'string') continue
    if (field.name.endsWith('_id')) {
      const lower = text.toLowerCase()
      if (isUuid(lower)) message[field.localName] = lower
    } else if (text.includes('\0')) {
      throw invalidField(field.name, 'must not have a NUL character')
    }
  }
}
