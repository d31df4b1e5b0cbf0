import { describe, expect, it } from '@jest/globals'
import { readConfig } from '../../../../src/config/read-config.ts'
import type { Handler } from '../../../../src/http/requests/exchange.ts'
import { RateLimitedWarning } from '../../../../src/telemetry/tracing/rate-limited-warning.ts'
import { startTracing } from '../../../../src/telemetry/tracing/tracing.ts'
import { createRecordingLog } from '../../../support/log.ts'

describe('tracing without a collector', () => {
  it('leaves handlers and ports as they are', async () => {
    const tracing = await startTracing(readConfig({}, {}), createRecordingLog())
    const handler: Handler = () => {}
    const port = { find: async () => 1 }
    expect(tracing.around(handler)).toBe(handler)
    expect(tracing.calls('Port', port)).toBe(port)
  })
})

describe('the warning that traces are lost', () => {
  it('is logged at once, and again after five minutes with the sum of what was lost since', () => {
    let now = 0
    const log = createRecordingLog()
    const warning = new RateLimitedWarning(log, () => now)
    warning.warn({ reason: 'refused', spans: 3 })
    warning.warn({ reason: 'refused', spans: 4 })
    now = 299_999
    warning.warn({ reason: 'refused', spans: 5 })
    expect(log.lines).toHaveLength(1)
    now = 300_000
    warning.warn({ reason: 'gone', spans: 6 })
    const words = 'warn traces could not be sent to the collector and are lost'
    expect(log.lines).toEqual([`${words} {"reason":"refused","spans":3}`, `${words} {"reason":"gone","spans":15}`])
  })
})
