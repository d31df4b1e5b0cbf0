import { describe, expect, it } from '@jest/globals'
import { LinkedList, ListItem } from '../../../../src/http/connections/linked-list.ts'

class Named extends ListItem {
  readonly name: string

  constructor(name: string) {
    super()
    this.name = name
  }
}

const namesIn = (list: LinkedList<Named>) => [...list].map(({ name }) => name)

function listOf(...items: Named[]): LinkedList<Named> {
  const list = new LinkedList<Named>()
  for (const item of items) list.append(item)
  return list
}

describe('a linked list', () => {
  const [a, b, c] = [new Named('a'), new Named('b'), new Named('c')]

  it('has no first item when it is empty', () => {
    const list = listOf(a)
    a.unlink()
    expect([new LinkedList().first, list.first, namesIn(list)]).toEqual([undefined, undefined, []])
  })

  it.each([
    ['first', a, ['b', 'c']],
    ['middle', b, ['a', 'c']],
    ['last', c, ['a', 'b']],
  ])('keeps the others when its %s item is unlinked', (_where, item, left) => {
    const list = listOf(a, b, c)
    item.unlink()
    expect([namesIn(list), list.first?.name, item.list]).toEqual([left, left[0], null])
    list.append(item)
    expect(namesIn(list)).toEqual([...left, item.name])
  })

  it('moves an item to the end when it is appended again', () => {
    const list = listOf(a, b, c)
    list.append(a)
    list.append(c)
    expect(namesIn(list)).toEqual(['b', 'a', 'c'])
  })

  it('loses an item that is appended to another list', () => {
    const list = listOf(a, b, c)
    const other = listOf(b)
    expect([namesIn(list), namesIn(other), a.list === list, b.list === other]).toEqual([['a', 'c'], ['b'], true, true])
  })

  it('is unchanged when an item is unlinked a second time', () => {
    const list = listOf(a, b, c)
    b.unlink()
    b.unlink()
    expect(namesIn(list)).toEqual(['a', 'c'])
  })

  it('can be iterated while the returned items are unlinked', () => {
    const list = listOf(a, b, c)
    const seen: string[] = []
    for (const item of list) {
      seen.push(item.name)
      item.unlink()
    }
    expect([seen, list.first]).toEqual([['a', 'b', 'c'], undefined])
  })
})
