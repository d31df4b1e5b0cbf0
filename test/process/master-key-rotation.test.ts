import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import pg from 'pg'
import { eventually } from '../support/eventually.ts'
import { collect, spawnKeyturn } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { idOf, NEWER, OLDER, REMOVAL, type RotatedInstance, setUpInstance } from '../support/rotated-instance.ts'

let postgres: TestPostgres
let instance: RotatedInstance
beforeAll(async () => {
  postgres = sharedPostgres()
  instance = await setUpInstance(postgres)
})
afterEach(() => instance.stopAll())
afterAll(() => postgres?.stop())

it('keyturn master-key rotate goes on where it was killed, and has lost nothing in between', async () => {
  const server = await instance.start(`${NEWER},${OLDER}`)
  const stillOld = await instance.start(OLDER)
  for (let count = 0; count < 4; count += 1) await instance.createKey(stillOld)
  await instance.stop(stillOld)
  const third = (await instance.rows())[2]!
  await postgres.query(
    `create function hold() returns trigger language plpgsql as
       $$ begin perform pg_advisory_xact_lock(42); return new; end $$;
     create trigger hold before update of sealed_private_key on web_keys
       for each row when (old.key_id = '${third.key_id}') execute function hold()`,
    [],
    instance.url,
  )
  const holder = new pg.Client({ connectionString: instance.url })
  await holder.connect()
  try {
    await holder.query('select pg_advisory_lock(42)')
    const rotation = spawnKeyturn(['master-key', 'rotate'], {
      KEYTURN_DATABASE_URL: instance.url,
      KEYTURN_MASTER_KEYS: `${NEWER},${OLDER}`,
    })
    const output = collect(rotation)
    const exited = once(rotation, 'exit')
    await eventually(async () => {
      const { rows } = await holder.query("select 1 from pg_locks where locktype = 'advisory' and not granted")
      expect({ waiting: rows.length, output }).toEqual({ waiting: 1, output: { stdout: '', stderr: '' } })
    })
    rotation.kill('SIGKILL')
    await exited
  } finally {
    await holder.end()
  }
  await eventually(async () =>
    expect(
      await postgres.query(
        "select 1 from pg_stat_activity where datname = current_database() and query ilike '%web_keys%' and pid <> pg_backend_pid() and state <> 'idle'",
        [],
        instance.url,
      ),
    ).toEqual([]),
  )
  const [left, done] = [idOf(OLDER), idOf(NEWER)]
  expect(await instance.openAll(`${NEWER},${OLDER}`)).toEqual([done, done, left, left, left])
  await instance.tokenOf(server)

  expect(await instance.rotate()).toEqual({
    code: 0,
    stdout: `3 of 6 keys were sealed anew; all of them are sealed by ${done} now.\n${REMOVAL}`,
    stderr: '',
  })
  expect(await instance.openAll(NEWER)).toEqual([done, done, done, done, done])
  await instance.stop(server)
  await instance.tokenOf(await instance.start(NEWER))
})
