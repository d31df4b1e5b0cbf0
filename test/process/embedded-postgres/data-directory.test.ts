import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { lockDataDirectory } from '../../../src/embedded-postgres/data-directory.ts'
import { startWorker, type Worker } from '../../support/processes.ts'
import type { LockAnswer } from './lock-worker.ts'

describe('locking a data directory', () => {
  let root: string
  let folder: string
  let workers: Worker[]

  const lockElsewhere = (options: { readonly obeysPermissions?: boolean } = {}) => {
    const worker = startWorker(new URL('lock-worker.ts', import.meta.url), [folder], options)
    workers.push(worker)
    return worker
  }

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'keyturn-data-'))
    folder = join(root, 'data')
    workers = []
  })
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.kill()))
    await rm(root, { recursive: true, force: true })
  })

  it('creates the directory for its owner alone', async () => {
    folder = join(root, 'a', 'b')
    const lock = await lockDataDirectory(folder)
    lock.release()
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
  })

  it('keeps the lock from other users, who could hold it, also in a directory that they may enter', async () => {
    await mkdir(folder, 0o755)
    const lock = await lockDataDirectory(folder)
    lock.release()
    expect((await stat(join(folder, 'lock'))).mode & 0o777).toBe(0o600)
  })

  it('is refused to another process, with the directory and what to do', async () => {
    const lock = await lockDataDirectory(folder)
    const answer = await lockElsewhere().next<LockAnswer>()
    lock.release()
    expect(answer).toEqual({
      taken: false,
      message: `the data directory ${folder} is in use by another process: stop that process or choose another directory`,
    })
  })

  it('is possible again after the holder was killed', async () => {
    const holder = lockElsewhere()
    expect(await holder.next()).toEqual({ taken: true })
    await expect(lockDataDirectory(folder)).rejects.toThrow('in use')
    await holder.kill()
    const lock = await lockDataDirectory(folder)
    lock.release()
  })
})
