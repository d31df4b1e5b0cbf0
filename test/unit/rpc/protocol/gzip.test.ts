import { gzipSync } from 'node:zlib'
import { Code } from '@connectrpc/connect'
import { describe, expect, it } from '@jest/globals'
import { GZIP } from '../../../../src/rpc/protocol/gzip.ts'

const MESSAGE = Buffer.from('a message '.repeat(100))
const COMPRESSED = gzipSync(MESSAGE)

describe('a compressed message of a stream', () => {
  it('is decompressed up to its longest length', async () => {
    expect(await GZIP.decompress(COMPRESSED, MESSAGE.byteLength)).toEqual(MESSAGE)
    await expect(GZIP.decompress(COMPRESSED, MESSAGE.byteLength - 1)).rejects.toMatchObject({
      code: Code.ResourceExhausted,
    })
  })

  it.each([
    ['is truncated', COMPRESSED.subarray(0, -9)],
    ['is no gzip', MESSAGE],
  ])('is the mistake of its client if it %s', async (_, bytes) => {
    await expect(GZIP.decompress(bytes, 10_000)).rejects.toMatchObject({ code: Code.InvalidArgument })
  })
})
