/**
 * Looks for bytes in the memory of a process, as an attacker does who has a dump of it (Linux: /proc/PID/mem).
 */
import type { KeyObject } from 'node:crypto'
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import type { Secret } from '../support/secret-search.ts'

const PAGE = 4096
/** One entry of /proc/PID/pagemap for each page. Its highest bits say whether the page is in memory or in swap. */
const ENTRY = 8
const THERE = 0xc0
const CHUNK = 16 * 1024 * 1024
/** How many bytes are looked for: enough to be no coincidence, and in one piece in any form. */
const NEEDLE_BYTES = 16

/** The names of the secrets of which a piece is in the memory that the process can write to. */
export function findInMemory(pid: number, secrets: readonly Secret[]): string[] {
  const found = new Set<string>()
  for (const piece of writtenMemory(pid)) {
    for (const { name, needles } of secrets) {
      if (!found.has(name) && needles.some((needle) => piece.includes(needle))) found.add(name)
    }
  }
  return secrets.map(({ name }) => name).filter((name) => found.has(name))
}

/**
 * A private key as a process has it: in the order of PKCS #8 and JWK, in that of the numbers of OpenSSL, and as the text of
 * a JWK.
 */
export function keyInMemory(name: string, key: KeyObject): Secret {
  const jwk = key.export({ format: 'jwk' }) as Record<string, string>
  // The others of an RSA key follow from its primes.
  const members = ['p', 'q', 'd'].flatMap((member) => jwk[member] ?? [])
  const needles = members.flatMap((member) => {
    const bytes = Buffer.from(member, 'base64url')
    return [middleOf(bytes), middleOf(Buffer.from(bytes).reverse()), middleOf(Buffer.from(member))]
  })
  return { name, needles }
}

function middleOf(bytes: Buffer): Buffer {
  const start = Math.floor((bytes.length - NEEDLE_BYTES) / 2)
  return bytes.subarray(start, start + NEEDLE_BYTES)
}

/** The pages that the process has written, in pieces that overlap where they follow each other. */
function* writtenMemory(pid: number): Generator<Buffer> {
  const [memory, pages] = [openSync(`/proc/${pid}/mem`, 'r'), openSync(`/proc/${pid}/pagemap`, 'r')]
  try {
    for (const [start, end] of writableMappings(pid)) {
      for (const [from, to] of presentRanges(pages, start, end)) {
        for (let at = from; at < to; at += CHUNK) {
          const piece = readAt(memory, at, Math.min(CHUNK + NEEDLE_BYTES * 2, to - at))
          if (piece !== undefined) yield piece
        }
      }
    }
  } finally {
    closeSync(memory)
    closeSync(pages)
  }
}

function writableMappings(pid: number): (readonly [start: number, end: number])[] {
  const lines = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')
  return lines.flatMap((line) => {
    const [, start, end] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? []
    return start === undefined || end === undefined ? [] : [[Number(`0x${start}`), Number(`0x${end}`)] as const]
  })
}

function presentRanges(pages: number, start: number, end: number): (readonly [from: number, to: number])[] {
  const entries = readAt(pages, (start / PAGE) * ENTRY, ((end - start) / PAGE) * ENTRY)
  // Without the right to ask, everything is read.
  if (entries === undefined) return [[start, end]]
  const ranges: [number, number][] = []
  for (let page = 0; page * ENTRY < entries.length; page += 1) {
    if ((entries[page * ENTRY + ENTRY - 1]! & THERE) === 0) continue
    const at = start + page * PAGE
    const last = ranges.at(-1)
    if (last?.[1] === at) last[1] = at + PAGE
    else ranges.push([at, at + PAGE])
  }
  return ranges
}

/** Undefined if it cannot be read: the process has given it back meanwhile. */
function readAt(file: number, position: number, length: number): Buffer | undefined {
  const bytes = Buffer.alloc(length)
  try {
    return bytes.subarray(0, readSync(file, bytes, 0, length, position))
  } catch {
    return undefined
  }
}
