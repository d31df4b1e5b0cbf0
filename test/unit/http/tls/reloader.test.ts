import { describe, expect, it } from '@jest/globals'
import { Reloader } from '../../../../src/http/tls/reloader.ts'
import { eventually } from '../../../support/eventually.ts'

function setUp() {
  const readings: PromiseWithResolvers<string>[] = []
  const events: string[] = []
  const reloader = new Reloader<string>({
    read: () => {
      const reading = Promise.withResolvers<string>()
      readings.push(reading)
      return reading.promise
    },
    onRead: (value) => events.push(value),
    onFailure: (error) => events.push(String(error)),
    retryAfter: 1,
  })
  return { readings, events, reloader }
}

/** Waits until all callbacks of settled promises have run. */
const settled = () => new Promise((done) => setImmediate(done))

describe('a reload', () => {
  it('is retried after a failure without another change', async () => {
    const { readings, events, reloader } = setUp()
    reloader.start()
    readings[0]!.reject('no file')
    await eventually(() => expect(readings).toHaveLength(2))
    readings[1]!.resolve('new')
    await settled()
    expect(events).toEqual(['no file', 'new'])
  })

  it('is given up after ten retries', async () => {
    const { readings, events, reloader } = setUp()
    reloader.start()
    for (let i = 0; i < 11; i += 1) {
      await eventually(() => expect(readings).toHaveLength(i + 1))
      readings[i]!.reject('no file')
    }
    await eventually(() => expect(events).toHaveLength(11))
    reloader.start()
    expect(readings).toHaveLength(12)
  })

  it('is discarded if a later one has begun', async () => {
    const { readings, events, reloader } = setUp()
    reloader.start()
    reloader.start()
    readings[1]!.resolve('new')
    await settled()
    readings[0]!.resolve('old')
    await settled()
    expect(events).toEqual(['new'])
  })

  it('calls nothing after the stop', async () => {
    const { readings, events, reloader } = setUp()
    reloader.start()
    reloader.stop()
    readings[0]!.resolve('new')
    await settled()
    expect(events).toEqual([])
  })
})
