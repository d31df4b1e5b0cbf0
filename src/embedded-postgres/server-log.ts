/**
 * What PostgreSQL writes to its standard error, for the log of Keyturn: bounded lines, each once a minute.
 */
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { LogThrottle } from '../domain/log-throttle.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { namingFolder } from './database-folder.ts'

const LONGEST_LINE = 500

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
  readonly throttle: LogThrottle
  /** Of the database. */
  readonly folder: string
}

/** The standard error of one server process. */
export class ServerLog {
  readonly #log: Log
  readonly #throttle: LogThrottle
  readonly #folder: string
  readonly #ready = Promise.withResolvers<void>()
  readonly #ended: Promise<void>
  #rest = ''
  #reason = ''
  #hasStarted = false
  #muted = false

  constructor(stderr: Readable, { log, throttle, folder }: ServerLogOptions) {
    this.#log = log
    this.#throttle = throttle
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
    // The ids of processes differ each time.
    const isNew = () => this.#throttle.admits(line.replaceAll(/\d+/g, '0'), performance.now())
    if (this.#muted || !WORTH_LOGGING.test(line) || !isNew()) return
    this.#log.warn({ said: line }, 'the embedded PostgreSQL says something')
  }
}

/** The message of an error may quote a value of a statement. */
function withoutValues(line: string): string {
  return line.startsWith('ERROR: ') ? line.replaceAll(/"[^"]*"?/g, '"…"') : line
}
