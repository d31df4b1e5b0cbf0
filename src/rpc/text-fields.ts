/**
 * What holds for the texts of every request, before any rule of its own.
 */
import type { DescMessage } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import type { Interceptor } from '@connectrpc/connect'
import { invalidField } from './violations.ts'

const ANY_UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

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
      if (ANY_UUID.test(text)) message[field.localName] = text.toLowerCase()
    } else if (text.includes('\0')) {
      throw invalidField(field.name, 'must not have a NUL character')
    }
  }
}
