/**
 * What fields of documents are made of. Each says what is wrong in words for people, and describes itself in the JSON schema.
 */
import { z } from 'zod'
import { isSecretJwk } from '../domain/keys/jwk-members.ts'

/** A text of some characters, as the API and JSON schemas count them: code points, which `z.string().max` does not count. */
export const text = (most: number, least = 1) =>
  z
    .string()
    .refine((value) => within(least, [...value].length, most), `it has ${least} to ${most} characters`)
    .meta({ minLength: least, maxLength: most })

function within(least: number, count: number, most: number): boolean {
  return least <= count && count <= most
}

/** A list without duplicates. */
export function listOf<Item extends z.ZodType>(item: Item, description: string) {
  return z
    .array(item)
    .superRefine((items, context) => {
      const before = new Set<unknown>()
      for (const [index, value] of items.entries()) {
        if (before.has(value)) context.addIssue({ code: 'custom', path: [index], message: 'it is in the list already' })
        before.add(value)
      }
    })
    .optional()
    .meta({ description, uniqueItems: true })
}

/** The name of a project. */
export const projectName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'a name of a project has 1 to 63 of a-z, 0-9 and -, and does not start with -')

/** A moment, or none. */
export const time = z.iso
  .datetime({ offset: true, error: 'it is a time as in RFC 3339, such as 2027-01-31T00:00:00Z' })
  .optional()

const LENGTH_OF_TIME = 'it is a length of time, such as 90d, 12h, 30m or 300s'
/** A length of time, or none. */
export const duration = z
  .string(LENGTH_OF_TIME)
  .regex(/^\d{1,9}[dhms]$/, LENGTH_OF_TIME)
  .optional()

/** Yes or no, or none. */
export const flag = (description: string) => z.boolean().optional().describe(description)

const PRIVATE_KEY =
  'it is a private key: write the public key only, and replace this key, which others may have read by now'

/** A public key. */
export const jwk = z
  .looseObject({
    kty: z.enum(['RSA', 'EC', 'OKP']).describe('The kind of key (RFC 7517 §4.1).'),
    expirationDate: time.describe('When the key stops working. Without one it does not.'),
    d: z.never(PRIVATE_KEY).optional().describe('Not here: it is the private key.'),
  })
  .refine((key) => !isSecretJwk(key), PRIVATE_KEY)
  .describe('A public key as a JWK (RFC 7517). A private key is refused before anything is sent.')

/** Public keys of an issuer. */
export const jwks = z.looseObject({
  keys: z
    .array(z.looseObject({ kty: z.string() }).refine((key) => !isSecretJwk(key), PRIVATE_KEY))
    .min(1, 'it has at least one key')
    .max(10, 'it has at most 10 keys'),
})

/** Exactly one of some fields. */
export function exactlyOne<Shape extends z.ZodRawShape>(
  shape: Shape,
  names: readonly string[],
  others: z.ZodRawShape = {},
) {
  return (
    z
      .strictObject({ ...shape, ...others })
      .superRefine((value, context) => {
        const given = names.filter((key) => Object.hasOwn(value as object, key))
        if (given.length !== 1)
          context.addIssue({ code: 'custom', message: `it must have exactly one of ${names.join(', ')}` })
      })
      // With `properties`, which the strict mode of Ajv wants beside `required`.
      .meta({ oneOf: names.map((key) => ({ properties: { [key]: true }, required: [key] })) })
  )
}
