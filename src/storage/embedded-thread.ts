/**
 * The thread in which an embedded database runs: one PGlite, and answers to the messages of `embedded-session.ts`.
 *
 * It is a thread of its own because PostgreSQL does not always return. When it panics, for example because the disk is
 * full while it needs a new file for its log, PGlite loops for ever in one call. A thread can be ended all the same.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'

/** A request. `sql: null` asks to close the database. */
export interface SessionRequest {
  readonly id: number
  readonly sql: string | null
  readonly parameters: readonly unknown[]
}

/** The answer to the request with the same id. The one with the id 0 says whether the database could be opened. */
export type SessionAnswer =
  | { readonly id: number; readonly rows: unknown[]; readonly affectedRows: number | undefined }
  | { readonly id: number; readonly message: string; readonly facts: Readonly<Record<string, string>> }

/** Said instead of an answer: nothing works any more, and the thread waits to be ended. */
export const BROKEN = 'broken'

const port = parentPort
if (port === null) throw new Error('this file is run by embedded-session.ts, in a thread')
const answer = (message: SessionAnswer): void => port.postMessage(message)

try {
  const database = await PGlite.create(String(workerData))
  // Emscripten calls this where the process would abort. It must not return.
  Object.assign(database.Module, { onAbort: waitForTheEnd })
  port.on('message', (request: SessionRequest) => void serve(database, request))
  answer({ id: 0, rows: [], affectedRows: undefined })
} catch (error) {
  answer({ id: 0, ...describe(error) })
}

async function serve(database: PGlite, { id, sql, parameters }: SessionRequest): Promise<void> {
  try {
    if (sql === null) {
      await database.close()
      answer({ id, rows: [], affectedRows: undefined })
    } else {
      const { rows, affectedRows } = await database.query(sql, [...parameters])
      answer({ id, rows, affectedRows })
    }
  } catch (error) {
    answer({ id, ...describe(error) })
  }
}

function waitForTheEnd(): void {
  port?.postMessage(BROKEN)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

/** What can be sent of an error: the fields of PostgreSQL's are its own and are texts. */
function describe(error: unknown): { readonly message: string; readonly facts: Readonly<Record<string, string>> } {
  if (!(error instanceof Error)) return { message: String(error), facts: {} }
  const texts = Object.entries(error).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return { message: error.message, facts: Object.fromEntries(texts.filter(([name]) => name !== 'query')) }
}
