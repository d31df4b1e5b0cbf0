/**
 * One file whose content is a program's: the part of FUSE, protocol 7.31, that a loop device on a file needs.
 *
 * The file is the root of the file system, so it is mounted over a file. The kernel keeps no writes back: each is here before
 * it is done.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, read, writeSync } from 'node:fs'
import { promisify } from 'node:util'

/** What the file is made of. */
export interface FileContent {
  read(offset: number, length: number): Buffer
  write(offset: number, bytes: Buffer): void
  /** Called for `fsync`. */
  flush(): void
}

const OPERATIONS = { getattr: 3, open: 14, read: 15, write: 16, release: 18, fsync: 20, flush: 25, init: 26 } as const
/** Operations that the kernel waits for no answer to: FORGET, INTERRUPT, BATCH_FORGET. */
const UNANSWERED = [2, 36, 42]
const ENOSYS = 38
const IN_HEADER = 40
const OUT_HEADER = 16
const WRITE_HEADER = 40
const MAX_WRITE = 1 << 20
const PAGE = 4096
/** FUSE_ASYNC_READ, FUSE_BIG_WRITES, FUSE_MAX_PAGES */
const FLAGS = (1 << 0) | (1 << 5) | (1 << 22)
const REGULAR_FILE = 0o100600
/** How long the kernel may go by the size of the file, in seconds. */
const VALID_SECONDS = 1_000_000n

const readFrom = promisify(read)

/** Mounts it over a file. Serves it until it is unmounted, or this process ends. */
export async function mountFuseFile(path: string, size: number, content: FileContent): Promise<void> {
  const device = openSync('/dev/fuse', 'r+')
  void serve(device, size, content)
  const options = `fd=3,rootmode=${REGULAR_FILE.toString(8)},user_id=0,group_id=0`
  const mount = spawn('mount', ['-i', '-t', 'fuse', '-o', options, 'keyturn-test', path], {
    stdio: ['ignore', 'ignore', 'inherit', device],
  })
  const [code] = await once(mount, 'exit')
  if (code !== 0) throw new Error(`mount of a FUSE file failed with exit code ${code}`)
}

async function serve(device: number, size: number, content: FileContent): Promise<void> {
  const buffer = Buffer.alloc(MAX_WRITE + PAGE)
  for (;;) {
    let length: number
    try {
      length = (await readFrom(device, buffer, 0, buffer.length, null)).bytesRead
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      // Before it is mounted, or when a request was taken back.
      if (code === 'EPERM' || code === 'ENOENT' || code === 'EINTR') continue
      // ENODEV: it is unmounted.
      return
    }
    answer(device, buffer.subarray(0, length), size, content)
  }
}

function answer(device: number, request: Buffer, size: number, content: FileContent): void {
  const operation = request.readUInt32LE(4)
  if (UNANSWERED.includes(operation)) return
  const body = replyTo(operation, request.subarray(IN_HEADER), size, content)
  const header = Buffer.alloc(OUT_HEADER)
  header.writeUInt32LE(OUT_HEADER + (body?.length ?? 0), 0)
  header.writeInt32LE(body === undefined ? -ENOSYS : 0, 4)
  request.copy(header, 8, 8, 16)
  writeSync(device, Buffer.concat([header, body ?? Buffer.alloc(0)]))
}

/** Undefined: there is no such operation. */
function replyTo(operation: number, input: Buffer, size: number, content: FileContent): Buffer | undefined {
  switch (operation) {
    case OPERATIONS.init:
      return init()
    case OPERATIONS.getattr:
      return attributes(size)
    case OPERATIONS.open:
      return Buffer.alloc(16)
    case OPERATIONS.read: {
      const offset = Number(input.readBigUInt64LE(8))
      return content.read(offset, Math.max(0, Math.min(input.readUInt32LE(16), size - offset)))
    }
    case OPERATIONS.write: {
      const length = input.readUInt32LE(16)
      content.write(Number(input.readBigUInt64LE(8)), input.subarray(WRITE_HEADER, WRITE_HEADER + length))
      const written = Buffer.alloc(8)
      written.writeUInt32LE(length)
      return written
    }
    case OPERATIONS.fsync:
      content.flush()
      return Buffer.alloc(0)
    case OPERATIONS.flush:
    case OPERATIONS.release:
      return Buffer.alloc(0)
    default:
      return undefined
  }
}

/** `struct fuse_init_out` */
function init(): Buffer {
  const out = Buffer.alloc(64)
  out.writeUInt32LE(7, 0)
  out.writeUInt32LE(31, 4)
  out.writeUInt32LE(MAX_WRITE, 8)
  out.writeUInt32LE(FLAGS, 12)
  out.writeUInt16LE(16, 16)
  out.writeUInt16LE(12, 18)
  out.writeUInt32LE(MAX_WRITE, 20)
  out.writeUInt32LE(1, 24)
  out.writeUInt16LE(MAX_WRITE / PAGE, 28)
  return out
}

/** `struct fuse_attr_out` */
function attributes(size: number): Buffer {
  const out = Buffer.alloc(104)
  out.writeBigUInt64LE(VALID_SECONDS, 0)
  out.writeBigUInt64LE(1n, 16)
  out.writeBigUInt64LE(BigInt(size), 24)
  out.writeBigUInt64LE(BigInt(size / 512), 32)
  out.writeUInt32LE(REGULAR_FILE, 76)
  out.writeUInt32LE(1, 80)
  out.writeUInt32LE(PAGE, 96)
  return out
}
