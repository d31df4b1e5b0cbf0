import { describe, expect, it } from '@jest/globals'
import { ClockCache } from '../../../../src/app/identities/clock-cache.ts'

function filled(capacity: number): ClockCache<number, string> {
  const map = new ClockCache<number, string>(capacity)
  for (let key = 0; key < capacity; key += 1) map.set(key, `value ${key}`)
  return map
}

const keysOf = (map: ClockCache<number, string>) => [...map.entries()].map(([key]) => key).sort((a, b) => a - b)

describe('a bounded map', () => {
  it('forgets the oldest entry that has not been used, and never the one that comes', () => {
    const map = filled(3)
    map.get(0)
    map.set(3, 'value 3')
    expect(keysOf(map)).toEqual([0, 2, 3])
    expect([map.get(0), map.get(1), map.get(3)]).toEqual(['value 0', undefined, 'value 3'])

    const single = filled(1)
    single.get(0)
    single.set(1, 'value 1')
    expect(keysOf(single)).toEqual([1])
  })

  it('passes over an entry once for each time that it is looked at after it has been used', () => {
    const map = filled(3)
    map.get(0)
    map.set(3, 'value 3')
    map.set(4, 'value 4')
    map.set(5, 'value 5')
    expect(keysOf(map)).toEqual([3, 4, 5])
  })

  it('does not count a replacement as a use, nor make an entry of it', () => {
    const map = filled(2)
    map.replace(0, 'another')
    map.replace(5, 'value 5')
    expect(map.get(5)).toBeUndefined()
    expect([...map.entries()][0]).toEqual([0, 'another'])
    map.set(2, 'value 2')
    expect(keysOf(map)).toEqual([1, 2])
  })

  it('counts a new value as a use, and takes no more room for it', () => {
    const map = filled(2)
    map.set(0, 'another')
    expect(map.size).toBe(2)
    map.set(2, 'value 2')
    expect([...map.entries()]).toEqual([
      [0, 'another'],
      [2, 'value 2'],
    ])
  })

  it('never has more entries than it may, also when all of them are used', () => {
    const map = filled(100)
    for (let key = 100; key < 1000; key += 1) {
      for (const [other] of map.entries()) map.get(other)
      map.set(key, `value ${key}`)
      expect(map.size).toBe(100)
    }
    map.delete(999)
    expect(map.size).toBe(99)
    expect(map.get(999)).toBeUndefined()
  })

  it('passes over few at a time, so that nobody waits for thousands to be looked at', () => {
    const map = filled(100)
    for (const [key] of map.entries()) map.get(key)
    map.set(100, 'value 100')
    expect(keysOf(map)).toEqual([...Array(101).keys()].filter((key) => key !== 16))
  })

  it('keeps those that are used again and again, whatever else comes', () => {
    const map = filled(100)
    for (let key = 100; key < 10_000; key += 1) {
      for (let used = 0; used < 10; used += 1) map.get(used)
      map.set(key, `value ${key}`)
    }
    expect(keysOf(map).slice(0, 10)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })
})
