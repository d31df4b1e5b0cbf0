/**
 * What CloudEvents 1.0 demands of an event in structured mode (JSON event format).
 */
import { z } from 'zod'

const text = z.string().min(1)

const EVENT = z
  .object({
    // REQUIRED (CloudEvents 1.0, "Required attributes").
    id: text,
    source: text.refine((source) => URL.canParse(source, 'https://base.example'), 'it is a URI reference'),
    specversion: z.literal('1.0'),
    type: text,
    // OPTIONAL, and not empty if they are there.
    datacontenttype: text.regex(/^[\w.+-]+\/[\w.+-]+(?:\s*;.*)?$/, 'it is a media type (RFC 2046)').optional(),
    dataschema: z.url().optional(),
    subject: text.optional(),
    time: z.iso.datetime({ offset: true }).optional(),
    data: z.json().optional(),
    data_base64: z.base64().optional(),
  })
  // Extensions.
  .catchall(z.union([z.string(), z.boolean(), z.int32()]))
  .refine(
    (event) => Object.keys(event).every((name) => /^(?:[a-z0-9]+|data_base64)$/.test(name)),
    'a-z and 0-9 name an attribute',
  )
  .refine(({ data, data_base64: bytes }) => data === undefined || bytes === undefined, 'data stands in one form')

/** What is wrong with a request as a CloudEvent, one line each. */
export function wrongAsCloudEvent(contentType: unknown, body: string): string[] {
  const isStructured = /^application\/cloudevents\+json(?:\s*;|$)/.test(String(contentType))
  const { error } = EVENT.safeParse(JSON.parse(body))
  const issues = error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? []
  return [...(isStructured ? [] : [`the content type is ${contentType}`]), ...issues]
}
