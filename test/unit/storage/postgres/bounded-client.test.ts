import { expect, it } from '@jest/globals'
import type pg from 'pg'
import { boundClient } from '../../../../src/storage/postgres/bounded-client.ts'

it('a rollback that fails hides nothing, and its connection is closed', async () => {
  const released: boolean[] = []
  const query = async (text: string) => {
    if (text === 'rollback') throw new Error('not sent')
  }
  const release = (destroy: boolean) => released.push(destroy)
  const client = { query, getTransactionStatus: () => 'T', release } as unknown as pg.PoolClient
  const bound = boundClient(client, { statementTimeout: 1, idleTimeout: 1 }, { onReadOnly: () => {} })
  await bound.query('begin', [])
  await bound.query('rollback', [])
  bound.release()
  expect(released).toEqual([true])
})
