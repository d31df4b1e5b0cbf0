import { describe, expect, it } from '@jest/globals'
import { publishDocument } from '../../../../src/oauth/documents/published-document.ts'

describe('a published document', () => {
  it('is a string, which goes out in one write with the headers', () => {
    const { body } = publishDocument({ name: '§' })
    expect(body).toBe(Buffer.from('{"name":"§"}').toString('latin1'))
  })

  it('is bytes if it is long, of which unread responses hold no copies', () => {
    const value = { text: '§'.repeat(40_000) }
    const { body } = publishDocument(value)
    expect(Buffer.isBuffer(body)).toBe(true)
    expect(JSON.parse(body.toString())).toEqual(value)
  })

  it('has another tag if it is another', () => {
    const { etag } = publishDocument({ a: 1 })
    expect(publishDocument({ a: 1 }).etag).toBe(etag)
    expect(publishDocument({ a: 2 }).etag).not.toBe(etag)
  })
})
