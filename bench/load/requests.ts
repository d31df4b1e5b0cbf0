/**
 * HTTP/1.1 requests as texts, made once and sent many times.
 */

/** A GET request. */
export function getRequest(url: string, headers: Readonly<Record<string, string>> = {}): string {
  return requestText('GET', url, { headers, body: '' })
}

/** A POST request with a body of ASCII characters. */
export function postRequest(
  url: string,
  content: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
): string {
  const length = String(content.body.length)
  return requestText('POST', url, { headers: { ...content.headers, 'content-length': length }, body: content.body })
}

function requestText(
  method: string,
  url: string,
  { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
): string {
  const { host, pathname } = new URL(url)
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}`)
  return [`${method} ${pathname} HTTP/1.1`, ...lines, '', body].join('\r\n')
}
