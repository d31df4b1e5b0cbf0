/**
 * A log that tests can read.
 */
import type { Log } from '../../src/domain/ports/runtime.ts'

/** What was logged, as one text per line. */
export interface RecordingLog extends Log {
  readonly lines: string[]
}

/** An empty log. */
export function createRecordingLog(): RecordingLog {
  const lines: string[] = []
  const record = (level: string) => (facts: object, message: string) => {
    lines.push(`${level} ${message} ${JSON.stringify(facts)}`)
  }
  return { lines, info: record('info'), warn: record('warn'), error: record('error') }
}
