/**
 * A process that is a disk with a volatile write cache, for `volatile-disk.ts`. It is a process of its own because a file
 * operation on the disk blocks the process that does it until this one has answered.
 *
 * Arguments: the file to mount it over, and its size in bytes. Each message asks for a crash image.
 */
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { mountFuseFile } from './fuse-file.ts'
import { createRandom } from './random.ts'
import type { CutRequest, PowerCut } from './volatile-disk.ts'
import { BLOCK_BYTES, WriteCache } from './write-cache.ts'

const [path = '', size = ''] = process.argv.slice(2)
const cache = new WriteCache()
let writes = 0
let cut: CutRequest | undefined
let writesLeft = 0
await mountFuseFile(path, Number(size), {
  read: (offset, length) => cache.read(offset, length),
  write: (offset, bytes) => {
    cache.write(offset, bytes)
    writes += 1
    writesLeft -= 1
    if (writesLeft === 0) cutPower()
  },
  flush: () => cache.flush(),
})

process.on('message', (request: CutRequest) => {
  cut = request
  writesLeft = request.afterWrites
  if (writesLeft === 0) cutPower()
})
// The tests ended without ending this.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
process.send?.({})

/** The disk handles no request while this runs. */
function cutPower(): void {
  if (cut === undefined) return
  const { blocks, cached, lost } = cache.crashImage(createRandom(cut.seed))
  const file = openSync(cut.image, 'w')
  ftruncateSync(file, Number(size))
  for (const [number, block] of blocks) writeSync(file, block, 0, BLOCK_BYTES, number * BLOCK_BYTES)
  closeSync(file)
  cut = undefined
  process.send?.({ cached, lost, writes } satisfies PowerCut)
}
