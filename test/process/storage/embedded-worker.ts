/**
 * A process that writes into an embedded database and never closes it, for `embedded-folder.test.ts`.
 *
 * Argument: the folder.
 */
import { openDatabase } from '../../../src/storage/postgres/database.ts'
import { migrate } from '../../../src/storage/schema/migrate.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { createRecordingLog } from '../../support/log.ts'

const [folder = ''] = process.argv.slice(2)
const database = await openDatabase({ kind: 'embedded', folder, log: createRecordingLog() })
await migrate(database)
const { keyId } = await keyOperations(database).create()
process.send?.({ keyId })
// A listener keeps the channel, and so the process, alive.
process.on('message', () => {})
