/**
 * A process that starts an embedded database, writes into it and never stops it, for `embedded-postgres.test.ts`.
 *
 * Argument: the data directory.
 */

import { migrate } from '../../../src/storage/migrations/migrate.ts'
import { openDatabase } from '../../../src/storage/postgres/database.ts'
import { startEmbeddedDatabase } from '../../support/embedded-database.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { createRecordingLog } from '../../support/log.ts'

const [dataDir = ''] = process.argv.slice(2)
const { url } = await startEmbeddedDatabase(dataDir)
const database = openDatabase({ url, log: createRecordingLog() })
await migrate(database)
const { keyId } = await keyOperations(database).create()
process.send?.({ keyId })
// A listener keeps the channel, and so the process, alive.
process.on('message', () => {})
