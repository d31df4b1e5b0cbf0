/**
 * The bench as it is run: that it comes to a result, and leaves nothing behind.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import { withFigures } from '../../bench/publish.ts'
import type { Run } from '../../bench/run.ts'
import { eventually } from '../support/eventually.ts'
import { childrenOf, isRunning } from '../support/proc.ts'
import { itUnless, NOT_LINUX } from '../support/unless.ts'

const MAIN = join(import.meta.dirname, '../../bench/main.ts')
const onLinux = itUnless(NOT_LINUX)

describe('the bench', () => {
  let folder: string
  const started: ChildProcess[] = []
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keyturn-test-'))
  })
  afterEach(async () => {
    for (const child of started.splice(0)) child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  })

  const run = (...args: string[]) => {
    const child = spawn(process.execPath, [MAIN, '--short', ...args], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    started.push(child)
    return child
  }

  onLinux(
    'prints every target of a scenario and writes what can be published',
    async () => {
      const output = join(folder, 'figures.json')
      const child = run('--only', 'key-set', '--output', output)
      const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
      expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toMatch(/key set 200: Keyturn, CPU per request \/ a bare server \| ≤ 1\.3 × /)

      const measured = JSON.parse(readFileSync(output, 'utf8')) as Run
      const [result] = measured.results
      expect(result?.rows.map(({ name }) => name)).toEqual([
        'Keyturn, 200',
        'bare server, 200',
        'Keyturn, 304',
        'bare server, 304',
      ])
      for (const { cells } of result?.rows ?? []) {
        expect(cells.errors).toBe(0)
        expect(cells['CPU µs']).toBeGreaterThan(0)
      }
      expect(result?.targets).toHaveLength(2)

      const page = withFigures(readFileSync(join(import.meta.dirname, '../../docs/performance.md'), 'utf8'), measured)
      expect(page).toContain('### key set')
      expect(withFigures(page, measured)).toBe(page)
    },
    120_000,
  )

  onLinux(
    'ends all its processes on Ctrl-C',
    async () => {
      const child = run('--only', 'start-up')
      const pid = child.pid ?? 0
      const children = await eventually(() => {
        const pids = childrenOf(pid)
        // PostgreSQL, the load generator and a server.
        if (pids.length < 3) throw new Error(`${pids.length} processes run`)
        return pids
      })
      child.kill('SIGINT')
      await once(child, 'exit')
      await eventually(() => expect(children.filter(isRunning)).toEqual([]))
    },
    120_000,
  )
})
