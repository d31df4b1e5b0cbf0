import { describe, expect, it } from '@jest/globals'
import { parseMasterKeys } from '../../../src/crypto/master-keys.ts'

const one = Buffer.alloc(32, 1).toString('base64url')
const two = Buffer.alloc(32, 2).toString('base64url')

function messageOf(text: string): string {
  try {
    parseMasterKeys(text)
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it was accepted')
}

describe('master keys', () => {
  it('seal with the first and open with all', () => {
    const masterKeys = parseMasterKeys(`new:${one},old:${two}`)
    expect(masterKeys.map(({ id, key }) => [id, key.export().toString('base64url')])).toEqual([
      ['new', one],
      ['old', two],
    ])
  })

  it.each(['', '  ', '\n'])('cannot be missing (%j)', (text) => {
    expect(messageOf(text)).toContain('keyturn master-key generate')
  })

  it.each([
    ['without an id', `${two}`],
    ['with an empty id', `:${two}`],
    ['with a bad id', `a b:${two}`],
    ['with a long id', `${'a'.repeat(65)}:${two}`],
    ['with id and key swapped', `${two}:old`],
    ['with a short key', `old:${two.slice(0, 40)}`],
    ['with a long key', `old:${two}AAAA`],
    ['with a padded key', `old:${two}=`],
    ['with a key in standard base64', `old:${Buffer.alloc(32, 0xff).toString('base64')}`],
    ['with a key whose last bits are not zero', `old:${two.slice(0, -1)}J`],
    ['with two colons', `old:x:${two}`],
    ['that is empty', ''],
  ])('are refused by position when there is one %s, without repeating any of it', (_, entry) => {
    const message = messageOf(`new:${one},${entry}`)
    expect(message).toContain('master key 2 is malformed')
    expect(message).not.toContain(one)
    expect(message).not.toContain(two.slice(0, 20))
  })

  it('are refused by id when two have the same', () => {
    const message = messageOf(`same:${one},same:${two}`)
    expect(message).toContain('"same"')
    expect(message).not.toContain(one)
    expect(message).not.toContain(two)
  })
})
