import { describe, expect, it } from '@jest/globals'
import { Reloader } from '../../../../src/http/tls/reloader.ts'
import { eventually } from '../../../support/eventually.ts'

function setUp() {
  const readings: PromiseWithResolvers<string>[] = []
  const told: string[] = []
  const reloads = new Reloader<string>({
    read: () => {
      const reading = Promise.withResolvers<string>()
      readings.push(reading)
      return reading.promise
    },
    onRead: (value) => told.push(value),
    onFailure: (error) => told.push(String(error)),
    retryAfter: 1,
  })
  return { readings, told, reloads }
}

/** Lets everything happen that waits for nothing else. */
const settled = () => new Promise((done) => setImmediate(done))

describe('what is read again', () => {
  it('is tried again after a failure, although nothing changes any more', async () => {
    const { readings, told, reloads } = setUp()
    reloads.start()
    readings[0]!.reject('no file')
    await eventually(() => expect(readings).toHaveLength(2))
    readings[1]!.resolve('new')
    await settled()
    expect(told).toEqual(['no file', 'new'])
  })

  it('is given up after a while', async () => {
    const { readings, told, reloads } = setUp()
    reloads.start()
    for (let i = 0; i < 11; i += 1) {
      await eventually(() => expect(readings).toHaveLength(i + 1))
      readings[i]!.reject('no file')
    }
    await eventually(() => expect(told).toHaveLength(11))
    reloads.start()
    expect(readings).toHaveLength(12)
  })

  it('counts as it was read last, whichever reading ends last', async () => {
    const { readings, told, reloads } = setUp()
    reloads.start()
    reloads.start()
    readings[1]!.resolve('new')
    await settled()
    readings[0]!.resolve('old')
    await settled()
    expect(told).toEqual(['new'])
  })

  it('is told to nobody after the stop', async () => {
    const { readings, told, reloads } = setUp()
    reloads.start()
    reloads.stop()
    readings[0]!.resolve('new')
    await settled()
    expect(told).toEqual([])
  })
})
