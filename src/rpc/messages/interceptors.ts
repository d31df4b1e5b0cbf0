/** What is done to every message of a call, or to the error at its end. */
import { type DescMessage, ScalarType } from '@bufbuild/protobuf'
import type { Interceptor } from '@connectrpc/connect'
import { isUuid } from '../../domain/identifiers.ts'
import { invalidField } from './violations.ts'

/** The longest list that is looked at. A list that is too long by its rule costs an error for each of its items. */
const MAX_ITEMS = 1000

/**
 * Writes UUIDs in lower case (RFC 9562 §4), and refuses NUL, which PostgreSQL cannot store, and lists beyond any rule.
 *
 * Ids of other kinds are unchanged: they are only compared.
 */
export function normalizeTexts(): Interceptor {
  return (next) => (req) => {
    // The message was decoded for this call, so it may be changed in place.
    const normalized = <Message>(message: Message): Message => {
      normalize(req.method.input, message as unknown as Record<string, unknown>)
      return message
    }
    if (req.stream) return next({ ...req, message: mapStream(req.message, normalized) })
    normalized(req.message)
    return next(req)
  }
}

function normalize(type: DescMessage, message: Record<string, unknown>): void {
  for (const field of type.fields) {
    if (field.fieldKind === 'list' && (message[field.localName] as readonly unknown[]).length > MAX_ITEMS)
      throw invalidField(field.name, `must have at most ${MAX_ITEMS} items`)
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

/** The stream with each message mapped, when it is asked for. */
export async function* mapStream<Message>(
  messages: AsyncIterable<Message>,
  map: (message: Message) => Message | Promise<Message>,
): AsyncGenerator<Message> {
  for await (const message of messages) yield await map(message)
}

/** The stream with the error at its end mapped, if it ends with one. */
export async function* mapErrors<Message>(
  messages: AsyncIterable<Message>,
  map: (error: unknown) => unknown,
): AsyncGenerator<Message> {
  try {
    yield* messages
  } catch (error) {
    throw map(error)
  }
}
