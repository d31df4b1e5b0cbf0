/**
 * Reading cookies of a request (RFC 6265).
 */

/**
 * The value of a cookie in a `Cookie` header. Undefined if it is missing, or there are several: another host of the domain may have set
 * one of them, and the order does not tell which.
 */
export function cookieValue(header: string | null | undefined, name: string): string | undefined {
  const values = (header ?? '').split(';').flatMap((pair) => {
    const text = pair.trim()
    return text.startsWith(`${name}=`) ? [text.slice(name.length + 1)] : []
  })
  return values.length === 1 ? values[0] : undefined
}
