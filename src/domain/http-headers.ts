/** Response headers that several layers add to before they are sent at once. */

/** The flat form of Node's `writeHead`: a name, its value, the next name. */
export type HeaderList = readonly string[]

export function setHeaders(response: { setHeader(name: string, value: string): unknown }, headers: HeaderList): void {
  for (let i = 0; i < headers.length; i += 2) response.setHeader(headers[i] as string, headers[i + 1] as string)
}

/** Whether the client's copy is current. @param etag The strong entity tag of what would be sent. */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true
  // GET compares weakly: `W/"x"` matches `"x"`.
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}
