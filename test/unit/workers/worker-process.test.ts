import cluster from 'node:cluster'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { forkWorker, type WorkerProcess } from '../../../src/workers/worker-process.ts'
import { removeFolder, temporaryFolder } from '../../support/keyturn.ts'

/** A process that cannot measure the first time, and then counts how often it was asked. */
const SCRIPT = `
let asked = 0
process.on('message', ({ kind }) => {
  if (kind === 'measure') process.send({ kind: 'metrics', text: ++asked === 1 ? null : String(asked) })
})`

let folder: string
let worker: WorkerProcess
beforeEach(async () => {
  folder = await temporaryFolder()
  const exec = join(folder, 'worker.mjs')
  await writeFile(exec, SCRIPT)
  cluster.setupPrimary({ exec, args: [], execArgv: [] })
  worker = forkWorker(0, null)
})
afterEach(async () => {
  worker.kill()
  await worker.exited
  await removeFolder(folder)
})

it('a worker whose metrics could not be read once is asked again', async () => {
  await worker.measure()
  expect([worker.hasAnswered, worker.lastMetrics]).toEqual([false, ''])
  await worker.measure()
  expect([worker.hasAnswered, worker.lastMetrics]).toEqual([true, '2'])
})

it('a worker that has ended is not waited for', async () => {
  worker.kill()
  await worker.exited
  await worker.measure()
})

it('nothing of a question to a worker is kept once it is answered', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const asked = new WeakRef(worker.measure())
  await asked.deref()
  // A reference stays for the turn in which it was followed.
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  expect(asked.deref()).toBeUndefined()
})
