import { describe, expect, it } from '@jest/globals'
import { readConfig } from '../../../../src/config/read-config.ts'
import type { Handler } from '../../../../src/http/requests/exchange.ts'
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
