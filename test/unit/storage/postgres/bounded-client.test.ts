import { describe, expect, it } from '@jest/globals'
import type pg from 'pg'
import { boundClient } from '../../../../src/storage/postgres/bounded-client.ts'

/** A client that fails at these statements. */
function clientThatFails(failures: Readonly<Record<string, string>>) {
  const query = async (text: string) => {
    const message = failures[text]
    if (message !== undefined) throw new Error(message)
  }
  const client = { query, getTransactionStatus: () => 'T', release: () => {} }
  const limits = { statementTimeout: 1, idleTimeout: 1 }
  return boundClient(client as unknown as pg.PoolClient, limits, { onReadOnly: () => {} })
}

describe('a rollback that fails', () => {
  it('fails as the commit before it, which alone says whether the transaction may be stored', async () => {
    const client = clientThatFails({ commit: 'the connection is gone', rollback: 'not sent' })
    await client.query('begin', [])
    await expect(client.query('commit', [])).rejects.toThrow('the connection is gone')
    await expect(client.query('rollback', [])).rejects.toThrow('the connection is gone')
  })

  it('fails for its own reason if there was no commit', async () => {
    const client = clientThatFails({ rollback: 'not sent' })
    await client.query('begin', [])
    await expect(client.query('rollback', [])).rejects.toThrow('not sent')
  })
})
