import { PassThrough } from 'node:stream'
import { expect, it } from '@jest/globals'
import { LogThrottle } from '../../../src/domain/log-throttle.ts'
import { ServerLog } from '../../../src/embedded-postgres/server-log.ts'
import { createRecordingLog } from '../../support/log.ts'

function listen() {
  const log = createRecordingLog()
  const stderr = new PassThrough()
  const server = new ServerLog(stderr, { log, throttle: new LogThrottle(), folder: '/data/postgres' })
  /** Resolves when everything has been read. */
  const say = (text: string | Buffer) => new Promise((resolve) => stderr.write(text, () => setImmediate(resolve)))
  return { log, server, say }
}

it('what an operator should know of PostgreSQL is logged, and nothing of its usual life', async () => {
  const { log, say } = listen()
  await say('LOG:  starting PostgreSQL 18.4\nLOG:  database system was shut down at 2026\nWARNING:  out of')
  await say(' disk\nPANIC:  could not write to file "pg_wal/x": No space left on device\n')
  await say('LOG:  client backend (PID 7) was terminated by signal 9: Killed\n')
  expect(log.lines).toHaveLength(3)
  expect(log.lines[0]).toContain('WARNING:  out of disk')
  expect(log.lines[1]).toContain('No space left on device')
  expect(log.lines[2]).toContain('terminated by signal 9')
})

it('the same line with other numbers is logged once', async () => {
  const { log, say } = listen()
  for (let pid = 0; pid < 10; pid += 1) await say(`FATAL:  terminating process ${pid}\n`)
  expect(log.lines).toHaveLength(1)
})

it('the reason of an end is what was said of it last, with the name of the folder', async () => {
  const { server, say } = listen()
  await say('FATAL:  data directory "/proc/self/cwd" has wrong ownership\nLOG:  database system is shut down\n')
  expect(server.reason).toBe('data directory "/data/postgres" has wrong ownership')
})

it('values that the message of an error quotes are not logged', async () => {
  const { log, say } = listen()
  await say('ERROR:  invalid input syntax for type integer: "a secret" at character 8\n')
  await say(`ERROR:  ${'x'.repeat(400)} "a secret, which is cut off ${'x'.repeat(200)}"\n`)
  expect(log.lines).toHaveLength(2)
  expect(log.lines.join()).not.toContain('a secret')
})
