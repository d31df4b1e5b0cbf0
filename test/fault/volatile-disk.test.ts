/**
 * The disk of the power loss tests: it must lose what is not synced, or they would find nothing, and keep what is.
 */
import { closeSync, fsyncSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from '@jest/globals'
import { describeUnless } from '../support/unless.ts'
import { type MountedDisk, mountCrashImage, mountVolatileDisk, whyNoVolatileDisk } from './volatile-disk.ts'

const FILES = 20

describeUnless(await whyNoVolatileDisk())('a disk whose power is cut', () => {
  const disks: MountedDisk[] = []
  let home: string | undefined
  afterEach(async () => {
    for (const disk of disks.splice(0).reverse()) await disk.unmount()
    if (home !== undefined) rmSync(home, { recursive: true })
  })

  it('has the files that were synced, whole, and not those that were not', async () => {
    home = mkdtempSync(join(tmpdir(), 'keyturn-image-'))
    const disk = await mountVolatileDisk(16)
    disks.push(disk)
    const contentOf = (name: string) => name.repeat(1000)
    const write = (name: string, sync: boolean) => {
      const file = openSync(join(disk.folder, name), 'w')
      writeSync(file, contentOf(name))
      if (sync) fsyncSync(file)
      closeSync(file)
    }
    const synced = Array.from({ length: FILES }, (_, index) => `synced-${index}`)
    for (const name of synced) write(name, true)
    for (let index = 0; index < FILES; index += 1) write(`unsynced-${index}`, false)

    const image = join(home, 'image')
    await disk.cutPower({ image, seed: 1, afterWrites: 0 })
    const mounted = mountCrashImage(image)
    disks.push(mounted)
    const left = readdirSync(mounted.folder).filter((name) => name !== 'lost+found')
    expect(left.sort()).toEqual(synced.toSorted())
    for (const name of synced) expect(readFileSync(join(mounted.folder, name), 'utf8')).toBe(contentOf(name))
  })
})
