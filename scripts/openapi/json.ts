/**
 * Parts of an OpenAPI document.
 */

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>

/** A reference to a component, such as `refTo('schemas', 'iam.webkey.v2.WebKey')`. */
export function refTo(kind: 'headers' | 'responses' | 'schemas', name: string): Json {
  return { $ref: `#/components/${kind}/${name}` }
}
