import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { lockDataDirectory } from '../../../src/embedded-postgres/data-directory.ts'
import { startWorker, type Worker } from '../../support/processes.ts'
import { itUnless, NOT_LINUX } from '../../support/unless.ts'
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

  it('is refused to the same process', async () => {
    const lock = await lockDataDirectory(folder)
    await expect(lockDataDirectory(folder)).rejects.toThrow('in use')
    lock.release()
  })

  it('is possible again after a release, which may be repeated', async () => {
    const lock = await lockDataDirectory(folder)
    lock.release()
    lock.release()
    expect(await lockElsewhere().next()).toEqual({ taken: true })
  })

  it('is possible again after the holder was killed', async () => {
    const holder = lockElsewhere()
    expect(await holder.next()).toEqual({ taken: true })
    await expect(lockDataDirectory(folder)).rejects.toThrow('in use')
    await holder.kill()
    const lock = await lockDataDirectory(folder)
    lock.release()
  })

  it('says so when the directory is a file', async () => {
    await writeFile(folder, '')
    await expect(lockDataDirectory(folder)).rejects.toThrow(`the data directory ${folder} is not a directory`)
    await expect(lockDataDirectory(join(folder, 'below'))).rejects.toThrow('is not a directory')
  })

  itUnless(NOT_LINUX)('says so when the directory cannot be made below one that is there', async () => {
    await expect(lockDataDirectory('/proc/keyturn/data')).rejects.toThrow('/proc/keyturn/data')
  })

  it('says so when the directory cannot be written', async () => {
    await mkdir(folder, { mode: 0o555 })
    const answer = await lockElsewhere({ obeysPermissions: true }).next<LockAnswer>()
    expect(answer).toMatchObject({
      taken: false,
      message: expect.stringContaining(`the data directory ${folder} cannot be written`),
    })
  })
})
