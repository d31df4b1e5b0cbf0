/**
 * Messages of the RPC services, right and wrong: made from the descriptors, then perhaps spoilt.
 */
import {
  create,
  type DescField,
  type DescMessage,
  type Message,
  ScalarType,
  toBinary,
  toJsonString,
} from '@bufbuild/protobuf'
import fc from 'fast-check'

/** Ids and names of things that exist, by the name of the field that they belong into. */
export type Known = Readonly<Record<string, readonly string[]>>

const MAX_DEPTH = 3

/** A message of a type whose fields have known, plausible or wild values. */
export function messageOf(type: DescMessage, known: Known, depth = 0): fc.Arbitrary<Message> {
  const fields = type.fields
    .filter((field) => field.oneof === undefined)
    .map((field) => [field.localName, fieldValue(field, known, depth)] as const)
  const oneofs = type.oneofs.map((oneof) => {
    const cases = oneof.fields.map((field) =>
      fieldValue(field, known, depth).map((value) => ({ case: field.localName, value })),
    )
    return [oneof.localName, fc.oneof(...cases)] as const
  })
  return fc
    .record(Object.fromEntries([...fields, ...oneofs]), { requiredKeys: [] })
    .map((init) => create(type, init as never))
}

function fieldValue(field: DescField, known: Known, depth: number): fc.Arbitrary<unknown> {
  switch (field.fieldKind) {
    case 'list':
      return fc.array(
        field.listKind === 'scalar' ? scalar(field.scalar, field.name, known) : single(field, known, depth),
        { maxLength: 4 },
      )
    case 'scalar':
      return scalar(field.scalar, field.name, known)
    default:
      return single(field, known, depth)
  }
}

function single(field: DescField, known: Known, depth: number): fc.Arbitrary<unknown> {
  if (field.enum !== undefined)
    return fc.oneof(fc.constantFrom(...field.enum.values.map(({ number }) => number)), fc.integer({ min: 0, max: 20 }))
  if (field.message === undefined) return fc.constant(undefined)
  if (field.message.typeName === 'google.protobuf.FieldMask') {
    const path = fc.oneof(
      fc.constantFrom(
        'name',
        'client_credentials_enabled',
        'bound_tokens_required',
        'certificate_bound_tokens',
        'project_id',
        'url',
        'ca_certificates',
        'event_types',
        'resources',
        'enabled',
      ),
      fc.stringMatching(/^[a-z_.]{0,20}$/),
    )
    return fc.array(path, { maxLength: 4 }).map((paths) => create(field.message as DescMessage, { paths } as never))
  }
  if (field.message.typeName === 'google.protobuf.Timestamp') {
    return fc
      .record({
        seconds: fc.oneof(fc.bigInt({ min: -70_000_000_000n, max: 300_000_000_000n }), fc.constant(4_102_444_800n)),
        nanos: fc.integer({ min: -5, max: 1_100_000_000 }),
      })
      .map((init) => create(field.message as DescMessage, init as never))
  }
  return depth >= MAX_DEPTH ? fc.constant(undefined) : messageOf(field.message, known, depth + 1)
}

function scalar(type: ScalarType, name: string, known: Known): fc.Arbitrary<unknown> {
  switch (type) {
    case ScalarType.BOOL:
      return fc.boolean()
    case ScalarType.STRING:
      return fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(...(known[name] ?? ['x'])) },
        { weight: 1, arbitrary: fc.uuid() },
        { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
        {
          weight: 1,
          arbitrary: fc.constantFrom(
            '',
            '\0',
            'a'.repeat(300),
            '\ud800',
            '💣',
            "'; drop table instance; --",
            '%00',
            '../..',
            '__proto__',
          ),
        },
      )
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 40 })
    case ScalarType.INT32:
      return fc.oneof(fc.integer({ min: 0, max: 1000 }), fc.integer())
    default:
      return fc.constant(undefined)
  }
}

/** The message as bytes; null where it cannot be written at all. */
export function encoded(type: DescMessage, message: Message, format: 'json' | 'proto'): Buffer | null {
  try {
    return Buffer.from(format === 'json' ? toJsonString(type, message) : toBinary(type, message))
  } catch {
    return null
  }
}

/** What may happen to bytes on their way. */
interface Accident {
  readonly kind: 'flip' | 'cut' | 'insert' | 'double' | 'none'
  readonly at: number
  readonly byte: number
}

/** Up to three accidents. */
export function accidents(): fc.Arbitrary<Accident[]> {
  const accident = fc.record({
    kind: fc.constantFrom('flip', 'cut', 'insert', 'double', 'none', 'none', 'none'),
    at: fc.nat(2_000),
    byte: fc.nat(255),
  })
  return fc.array(accident, { maxLength: 3 })
}

/** The bytes after these accidents. */
export function after(accidents: readonly Accident[], bytes: Buffer): Buffer {
  let current = bytes
  for (const { kind, at, byte } of accidents) {
    const place = current.length === 0 ? 0 : at % current.length
    const [before, after] = [current.subarray(0, place), current.subarray(place)]
    if (kind === 'flip') current = Buffer.concat([before, Buffer.from([byte]), after.subarray(1)])
    if (kind === 'cut') current = before
    if (kind === 'insert') current = Buffer.concat([before, Buffer.from([byte]), after])
    if (kind === 'double') current = Buffer.concat([before, after, after])
  }
  return current
}
