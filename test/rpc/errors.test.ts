import { Code } from '@connectrpc/connect'
import { describe, expect, it } from '@jest/globals'
import { DomainError } from '../../src/domain/errors.ts'
import { toConnectError } from '../../src/rpc/errors.ts'
import { createRecordingLog } from '../support/log.ts'

describe('the error for a refusal', () => {
  it.each(['change_not_in_force', 'change_outcome_unknown'] as const)(
    'does not invite clients to repeat a change that is stored, or may be: %s',
    (code) => {
      const refusal = new DomainError(code, 'the change is stored, or may be')
      const error = toConnectError(refusal, new Headers(), createRecordingLog())
      expect([error.code, error.metadata.has('retry-after')]).toEqual([Code.Unknown, false])
    },
  )

  it('says when to try again if the database cannot be reached [RFC 9110 §10.2.3]', () => {
    const refusal = new DomainError('storage_unavailable', 'the database cannot be reached')
    const error = toConnectError(refusal, new Headers(), createRecordingLog())
    expect([error.code, error.metadata.get('retry-after')]).toEqual([Code.Unavailable, '5'])
  })
})
