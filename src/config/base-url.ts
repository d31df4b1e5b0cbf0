/** What a base URL of a server must be. Apart from `values.ts`, so that commands need not load what checks all settings. */
import { isIP } from 'node:net'

/** The base URL in a text, as the setting takes it. @param refuse Gets what the text must be, for example `must be a URL`. */
export function parseBaseUrl(text: string, refuse: (problem: string) => never): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) return refuse('must be a URL, https://…')
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
    return refuse('must have nothing behind the host and port: no path, query, fragment or user')
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return refuse(
      'must be https, because clients send their secrets to it; http is allowed for loopback addresses only',
    )
  }
  return url.origin
}

function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname === '[::1]') return true
  return isIP(hostname) === 4 && hostname.startsWith('127.')
}
