import { describe, expect, it } from '@jest/globals'
import { readConfig } from '../../../src/config/read-config.ts'
import { generateMasterKey } from '../../../src/crypto/master-keys.ts'
import { Workers } from '../../../src/workers/workers.ts'
import { freePort } from '../../support/free-port.ts'
import { createRecordingLog } from '../../support/log.ts'

async function setUp() {
  const metrics = `127.0.0.1:${await freePort()}`
  const config = readConfig(
    {},
    {
      KEYTURN_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/x',
      KEYTURN_MASTER_KEYS: generateMasterKey(),
      KEYTURN_WORKERS: '2',
      KEYTURN_METRICS_LISTEN: metrics,
    },
  )
  const log = createRecordingLog()
  return { workers: new Workers(config, log), log, metricsUrl: `http://${metrics}/metrics` }
}

describe('workers that are stopped', () => {
  it.each([
    ['before they are started', (workers: Workers) => [workers.stop(), workers.start()]],
    ['while the start checks the files', (workers: Workers) => [workers.start(), workers.stop()]],
  ])('%s leave no metrics server behind, which would keep the process alive', async (_, act) => {
    const { workers, log, metricsUrl } = await setUp()
    expect(await Promise.all(act(workers))).toEqual([undefined, undefined])
    await expect(fetch(metricsUrl)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
    expect(log.lines).toEqual([])
  })
})
