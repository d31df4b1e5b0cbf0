import { describe, expect, it } from '@jest/globals'
import { freshSeconds } from '../../../src/outbound/freshness.ts'

const NOW = Date.parse('Mon, 23 Nov 2026 08:00:00 GMT')

describe('for how long a response may be reused [RFC 9111 §4.2]', () => {
  it.each([
    [{}, null],
    [{ 'cache-control': 'public, max-age=300, must-revalidate' }, 300],
    [{ 'cache-control': 'MAX-AGE="60"' }, 60],
    [{ 'cache-control': 's-maxage=10' }, null],
    [{ 'cache-control': 'max-age=300', age: '100' }, 200],
    [{ 'cache-control': 'max-age=300', age: '400' }, 0],
    [{ 'cache-control': 'max-age=300', age: 'old' }, 300],
    [{ 'cache-control': 'no-store, max-age=300' }, 0],
    [{ 'cache-control': 'no-cache' }, 0],
    [{ 'cache-control': 'max-age=60', expires: 'Mon, 23 Nov 2026 09:00:00 GMT' }, 60],
    [{ expires: 'Mon, 23 Nov 2026 09:00:00 GMT' }, 3600],
    [{ expires: 'Mon, 23 Nov 2026 09:00:00 GMT', date: 'Mon, 23 Nov 2026 08:59:00 GMT' }, 60],
    [{ expires: 'Mon, 23 Nov 2026 07:00:00 GMT' }, 0],
    [{ expires: '0' }, 0],
  ])('with %j is %j seconds', (headers, seconds) => {
    expect(freshSeconds(headers, NOW)).toBe(seconds)
  })
})
