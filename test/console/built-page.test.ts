import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from '@jest/globals'

const BUILT = join(import.meta.dirname, '../../dist/console')
/** In bytes. */
const MOST_SCRIPT = 120_000

describe('the built page', () => {
  const assets = readdirSync(join(BUILT, 'assets'))
  const sizeOf = (ending: string) => {
    const files = assets.filter((name) => name.endsWith(ending))
    return files.reduce((sum, name) => sum + gzipSync(readFileSync(join(BUILT, 'assets', name))).byteLength, 0)
  }

  it('has at most 120 KB of compressed script', () => {
    process.stderr.write(`script: ${sizeOf('.js')} bytes, style: ${sizeOf('.css')} bytes, both with gzip\n`)
    expect(sizeOf('.js')).toBeGreaterThan(0)
    expect(sizeOf('.js')).toBeLessThanOrEqual(MOST_SCRIPT)
  })

  it('comes with the licences of the libraries that are in it', () => {
    const licences = readFileSync(join(BUILT, 'licenses.md'), 'utf8')
    const named = [...licences.matchAll(/^## (\S+) - /gm)].map(([, name]) => name)
    expect(named.sort()).toEqual([
      '@bufbuild/protobuf',
      '@connectrpc/connect',
      '@connectrpc/connect-web',
      '@preact/signals',
      '@preact/signals-core',
      'jose',
      'preact',
    ])
  })

  it('has no inline script or style, and names no other origin', () => {
    const html = readFileSync(join(BUILT, 'index.html'), 'utf8')
    expect(html).not.toMatch(/<style|style=|<script(?![^>]*\ssrc="\/console\/assets\/)|https?:/)
  })
})
