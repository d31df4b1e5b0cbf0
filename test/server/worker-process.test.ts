import cluster from 'node:cluster'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { forkWorker } from '../../src/server/workers/worker-process.ts'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'

/** A process that cannot measure the first time, and then counts how often it was asked. */
const SCRIPT = `
let asked = 0
process.on('message', ({ kind }) => {
  if (kind === 'measure') process.send({ kind: 'metrics', text: ++asked === 1 ? null : String(asked) })
})`

it('a worker whose metrics could not be read once is asked again', async () => {
  const folder = await temporaryFolder()
  const exec = join(folder, 'worker.mjs')
  await writeFile(exec, SCRIPT)
  cluster.setupPrimary({ exec, args: [], execArgv: [] })
  const worker = forkWorker(0, null)
  try {
    await worker.measure()
    expect([worker.hasAnswered, worker.lastMetrics]).toEqual([false, ''])
    await worker.measure()
    expect([worker.hasAnswered, worker.lastMetrics]).toEqual([true, '2'])
  } finally {
    worker.kill()
    await worker.exited
    await removeFolder(folder)
  }
})
