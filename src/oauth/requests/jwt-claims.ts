/**
 * What a JWT says, before its signature is verified: good for choosing how to verify it, and for nothing else.
 */

/** The claims; undefined if the text is no JWT. */
export function unverifiedClaims(jwt: string): Readonly<Record<string, unknown>> | undefined {
  return objectIn(jwt.split('.')[1])
}

/** The members of the header; undefined if the text is no JWT. */
export function unverifiedHeader(jwt: string): Readonly<Record<string, unknown>> | undefined {
  return objectIn(jwt.split('.', 1)[0])
}

function objectIn(part = ''): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}
