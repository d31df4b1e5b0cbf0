import { describe, expect, it } from '@jest/globals'
import { DEFAULT_LIMITS } from '../../../../src/http/connections/limits.ts'
import { readMaxOpenFiles, withinOpenFiles } from '../../../../src/http/connections/open-files.ts'

describe('the limit of connections', () => {
  it('leaves room for the other files of the process', () => {
    expect(withinOpenFiles(DEFAULT_LIMITS, 1024)).toEqual({ ...DEFAULT_LIMITS, maxConnections: 824 })
    expect(withinOpenFiles(DEFAULT_LIMITS, 1_048_576)).toEqual(DEFAULT_LIMITS)
    expect(withinOpenFiles(DEFAULT_LIMITS, Number.POSITIVE_INFINITY)).toEqual(DEFAULT_LIMITS)
  })

  it('is never nothing', () => {
    expect(withinOpenFiles(DEFAULT_LIMITS, 64).maxConnections).toBe(16)
  })
})

it('how many files may be open is known or unlimited', async () => {
  expect(await readMaxOpenFiles()).toBeGreaterThan(0)
})
