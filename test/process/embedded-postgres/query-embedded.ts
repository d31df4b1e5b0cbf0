/**
 * Runs SQL in the embedded database that works on a folder, on a connection of its own.
 */
import pg from 'pg'
import { socketAddress } from '../../../src/embedded-postgres/socket.ts'

/** @param folder The database folder, in which the socket is. */
export async function queryEmbedded<Row extends pg.QueryResultRow>(folder: string, text: string): Promise<Row[]> {
  const address = socketAddress(folder)
  const client = new pg.Client({ connectionString: address.url })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
    address.close()
  }
}
