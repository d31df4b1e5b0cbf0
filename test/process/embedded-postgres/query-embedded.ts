/**
 * Runs SQL in the embedded database that works on a folder, on a connection of its own.
 */
import pg from 'pg'
import { socketUrl } from '../../../src/embedded-postgres/socket.ts'

/** @param folder The database folder, in which the socket is. */
export async function queryEmbedded<Row extends pg.QueryResultRow>(folder: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: socketUrl(folder) })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}
