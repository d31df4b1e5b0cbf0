/**
 * One of several replicas on one database, for `concurrency.test.ts`: starts as a server does, reports it, and activates
 * the keys that it gets.
 *
 * Argument: the URL of the database.
 */
import { once } from 'node:events'
import { planActivation } from '../../src/domain/keys/key-ring.ts'
import { createInstanceInitializer } from '../../src/storage/instance/instance-initializer.ts'
import { createKeyStore } from '../../src/storage/keys/key-store.ts'
import { migrate } from '../../src/storage/migrations/migrate.ts'
import { openDatabase } from '../../src/storage/postgres/database.ts'
import { anEntry } from '../support/audit-entry.ts'
import { newInstanceContent } from '../support/instance-content.ts'
import { TEST_MACS } from '../support/integrity.ts'
import { createRecordingLog } from '../support/log.ts'

/** The message of a worker that has started. */
export interface Started {
  readonly migrated: readonly string[]
  readonly initialised: boolean
}

/** The message to it. */
export interface Task {
  readonly keyIds: readonly string[]
  readonly activations: number
}

/** Its last message. */
export interface Done {
  /** How many of the activations changed something. */
  readonly changes: number
  readonly errors: readonly string[]
}

const LANES = 3

const [url = ''] = process.argv.slice(2)
const database = await openDatabase({ url, log: createRecordingLog() })
const store = createKeyStore(database, TEST_MACS)
const tell = (message: Started | Done) => process.send?.(message)

const migrated = await migrate(database)
const initialised = await createInstanceInitializer(database).initialise(newInstanceContent(), async () => {})
tell({ migrated, initialised })

const [task] = (await once(process, 'message')) as [Task]
const errors: string[] = []
let remaining = task.activations
let changes = 0

async function activateAny(): Promise<void> {
  const keyId = task.keyIds[Math.floor(Math.random() * task.keyIds.length)] ?? ''
  try {
    const { result: changed } = await store.update(anEntry('activate'), (ring, now) => {
      const { steps } = planActivation(ring, keyId, { guard: 'off', jwksMaxAgeSeconds: 300, now })
      return { steps, result: steps.length > 0 }
    })
    if (changed) changes += 1
  } catch (error) {
    errors.push(String(error))
  }
}

async function lane(): Promise<void> {
  while (remaining > 0) {
    remaining -= 1
    await activateAny()
  }
}

await Promise.all(Array.from({ length: LANES }, lane))
await database.close()
tell({ changes, errors })
process.disconnect?.()
