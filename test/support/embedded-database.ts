/**
 * The embedded database of a data directory, opened by a test while no server has it.
 */
import type { Log } from '../../src/domain/ports/runtime.ts'
import { startEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts'
import { socketUrl } from '../../src/embedded-postgres/socket.ts'
import { type Database, openDatabase } from '../../src/storage/postgres/database.ts'
import { createRecordingLog } from './log.ts'

/** A running embedded database. */
interface EmbeddedServer {
  readonly url: string
  stop(): Promise<void>
}

/** Starts it, and makes it if it is missing. */
export async function startEmbeddedDatabase(dataDir: string, log: Log = createRecordingLog()): Promise<EmbeddedServer> {
  const server = await startEmbeddedPostgres({ dataDir, connections: 10, log })
  return { url: socketUrl(server.folder), stop: () => server.stop() }
}

/** Starts it and opens it. Closing it stops it. */
export async function openEmbeddedDatabase(dataDir: string, log?: Log): Promise<Database> {
  const { url, stop } = await startEmbeddedDatabase(dataDir, log)
  const database = openDatabase({ url, log: createRecordingLog() })
  return {
    ...database,
    close: async () => {
      await database.close()
      await stop()
    },
  }
}
