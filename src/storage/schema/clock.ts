import { sql } from 'kysely'

/** The clock of the database, in whole milliseconds, as the tables keep time. */
export const CLOCK = sql<Date>`date_trunc('milliseconds', clock_timestamp())`
