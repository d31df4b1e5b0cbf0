/** Shows and changes the issuer of the instance, directly in the database: a server refuses to start with another base URL. */

import { changeIssuer } from '../../app/replica/issuer.ts'
import type { Config } from '../../config/config.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import { createIssuerStore } from '../../storage/instance/issuer-store.ts'
import { assertMigrated } from '../../storage/migrations/migrate.ts'
import { withExisting, withInstance } from '../database.ts'

/** The issuer of the instance; null if none is stored. Nothing is changed. @throws {Error} that says what to do. */
export async function storedIssuer(config: Config, log: Log): Promise<string | null> {
  return await withExisting(config, log, async (database) => {
    await assertMigrated(database)
    return await createIssuerStore(database).find()
  })
}

/**
 * Makes this the issuer of the instance.
 * @returns The one before; null if none was stored.
 * @throws {Error} that says what to do, if the instance has not been set up or its embedded database is in use.
 */
export async function replaceIssuer(config: Config, issuer: string, log: Log): Promise<string | null> {
  return await withInstance(config, log, (database) => changeIssuer(createIssuerStore(database), issuer))
}
