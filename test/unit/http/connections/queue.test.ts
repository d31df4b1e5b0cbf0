import { describe, expect, it } from '@jest/globals'
import { Queue, Queued } from '../../../../src/http/connections/queue.ts'

class Named extends Queued {
  readonly name: string

  constructor(name: string) {
    super()
    this.name = name
  }
}

const namesIn = (queue: Queue<Named>) => [...queue].map(({ name }) => name)

function queueOf(...items: Named[]): Queue<Named> {
  const queue = new Queue<Named>()
  for (const item of items) queue.add(item)
  return queue
}

describe('a queue', () => {
  const [a, b, c] = [new Named('a'), new Named('b'), new Named('c')]

  it('has nobody first when it is empty', () => {
    const queue = queueOf(a)
    a.leave()
    expect([new Queue().first, queue.first, namesIn(queue)]).toEqual([undefined, undefined, []])
  })

  it.each([
    ['first', a, ['b', 'c']],
    ['in the middle', b, ['a', 'c']],
    ['last', c, ['a', 'b']],
  ])('closes up when the one %s leaves', (_where, item, left) => {
    const queue = queueOf(a, b, c)
    item.leave()
    expect([namesIn(queue), queue.first?.name, item.queue]).toEqual([left, left[0], null])
    queue.add(item)
    expect(namesIn(queue)).toEqual([...left, item.name])
  })

  it('has those last who are taken in again', () => {
    const queue = queueOf(a, b, c)
    queue.add(a)
    queue.add(c)
    expect(namesIn(queue)).toEqual(['b', 'a', 'c'])
  })

  it('loses those who go to another one', () => {
    const queue = queueOf(a, b, c)
    const other = queueOf(b)
    expect([namesIn(queue), namesIn(other), a.queue === queue, b.queue === other]).toEqual([
      ['a', 'c'],
      ['b'],
      true,
      true,
    ])
  })

  it('is not upset by one that leaves twice', () => {
    const queue = queueOf(a, b, c)
    b.leave()
    b.leave()
    expect(namesIn(queue)).toEqual(['a', 'c'])
  })

  it('can be walked through while those that come out of it leave', () => {
    const queue = queueOf(a, b, c)
    const seen: string[] = []
    for (const item of queue) {
      seen.push(item.name)
      item.leave()
    }
    expect([seen, queue.first]).toEqual([['a', 'b', 'c'], undefined])
  })
})
