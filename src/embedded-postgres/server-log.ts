/**
 * What PostgreSQL writes to its standard error, for the log of Keyturn: bounded lines, each once a minute, and no more than a
 * few together.
 */
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { LogThrottle } from '../domain/log-throttle.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { namingFolder } from './database-folder.ts'

const LONGEST_LINE = 500
const MOST_LINES = 20
const PER_MILLIS = 60_000

const READY = 'database system is ready to accept connections'

/** What an operator should know. The rest tells of the usual life of a server. */
const WORTH_LOGGING = /^(WARNING|ERROR|FATAL|PANIC): |terminated by signal|not properly shut down/

/** Why a server does not start. Later a FATAL is the end of one connection. */
const REASON = /^(FATAL|PANIC): +|^\S*(postgres|sh): /
const REASON_AFTER_START = /^PANIC: +/

/** Where the lines of a server go. */
export interface ServerLogOptions {
  readonly log: Log
  /** Shared by the processes that follow each other. */
  readonly lines: LineLimit
  /** Of the database. */
  readonly folder: string
}

/** The standard error of one server process. */
export class ServerLog {
  readonly #log: Log
  readonly #lines: LineLimit
  readonly #folder: string
  readonly #ready = Promise.withResolvers<void>()
  readonly #ended: Promise<void>
  #rest = ''
  #reason = ''
  #hasStarted = false
  #muted = false

  constructor(stderr: Readable, { log, lines, folder }: ServerLogOptions) {
    this.#log = log
    this.#lines = lines
    this.#folder = folder
    const decoder = new StringDecoder()
    stderr.on('data', (chunk: Buffer) => this.#read(decoder.write(chunk)))
    stderr.on('error', () => {})
    this.#ended = new Promise((resolve) => stderr.once('close', resolve))
  }

  /** Resolves when the server takes connections. */
  get ready(): Promise<void> {
    return this.#ready.promise
  }

  /** Resolves when everything has been read. */
  get ended(): Promise<void> {
    return this.#ended
  }

  /** The last thing that it said of why it ends; empty if it did not. */
  get reason(): string {
    return this.#reason
  }

  /** Logs nothing any more: a server that is stopped says so to each connection. */
  mute(): void {
    this.#muted = true
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = (lines.pop() ?? '').slice(0, LONGEST_LINE)
    for (const line of lines) this.#take(namingFolder(withoutValues(line.slice(0, LONGEST_LINE)), this.#folder))
  }

  #take(line: string): void {
    if (line.includes(READY)) {
      this.#hasStarted = true
      this.#reason = ''
      this.#ready.resolve()
    }
    if ((this.#hasStarted ? REASON_AFTER_START : REASON).test(line))
      this.#reason = line.replace(/^(FATAL|PANIC): +/, '')
    if (this.#muted || !WORTH_LOGGING.test(line) || !this.#lines.admits(line, performance.now())) return
    this.#log.warn({ said: line }, 'the embedded PostgreSQL says something')
  }
}

/** The message of an error may quote a value of a statement. */
function withoutValues(line: string): string {
  return line.startsWith('ERROR: ') ? line.replaceAll(/"[^"]*"?/g, '"…"') : line
}

/** Bounds how many lines are logged, whatever they say. */
export class LineLimit {
  readonly #same = new LogThrottle()
  #since = Number.NEGATIVE_INFINITY
  #lines = 0

  /** Whether to log the line now. @param at Milliseconds of a clock that never jumps. */
  admits(line: string, at: number): boolean {
    if (at - this.#since >= PER_MILLIS) {
      this.#since = at
      this.#lines = 0
    }
    // The ids of processes differ each time.
    if (this.#lines >= MOST_LINES || !this.#same.admits(line.replaceAll(/\d+/g, '0'), at)) return false
    this.#lines += 1
    return true
  }
}
