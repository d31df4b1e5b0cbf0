import { openDatabase } from '../../../src/storage/postgres/database.ts'
import { createRecordingLog } from '../../support/log.ts'
import { describeStore } from './store-contract.ts'

describeStore('PGlite', () => openDatabase({ kind: 'embedded', folder: null, log: createRecordingLog() }))
