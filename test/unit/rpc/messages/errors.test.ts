import { create, toBinary } from '@bufbuild/protobuf'
import { ViolationsSchema } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { Code, ConnectError } from '@connectrpc/connect'
import { codeFromString } from '@connectrpc/connect/protocol-connect'
import { describe, expect, it } from '@jest/globals'
import { DomainError, REFUSAL_KINDS } from '../../../../src/domain/errors.ts'
import { toConnectError } from '../../../../src/rpc/messages/errors.ts'
import { createRecordingLog } from '../../../support/log.ts'

const OPTIONS = { log: createRecordingLog(), baseUrl: 'https://id.example.com' }

const MUCH = '\u00e9'.repeat(20_000)

/** What the validation throws. */
function violated(messages: readonly string[]): ConnectError {
  const value = create(ViolationsSchema, { violations: messages.map((message) => ({ message })) })
  const details = [{ desc: ViolationsSchema, value }]
  return new ConnectError(messages.join(), Code.InvalidArgument, undefined, details)
}

describe('the error for a refusal', () => {
  it('has a code for each kind', () => {
    expect(Object.values(REFUSAL_KINDS).filter((kind) => codeFromString(kind) === undefined)).toEqual([])
  })

  it.each([
    ['change_not_in_force', Code.Unavailable],
    ['change_outcome_unknown', Code.Unknown],
  ] as const)('does not say when to repeat a change that is stored, or may be: %s', (reason, code) => {
    const refusal = new DomainError(reason, 'the change is stored, or may be')
    const error = toConnectError(refusal, new Headers(), OPTIONS)
    expect([error.code, error.metadata.has('retry-after')]).toEqual([code, false])
  })

  it('is no failure of the server if the caller went away', () => {
    const log = createRecordingLog()
    const aborted = Object.assign(new Error('aborted'), { name: 'AbortError' })
    expect(toConnectError(aborted, new Headers(), { ...OPTIONS, log }).code).toBe(Code.Canceled)
    expect(log.lines).toEqual([])
  })

  it('says when to try again if the database cannot be reached [RFC 9110 §10.2.3]', () => {
    const refusal = new DomainError('storage_unavailable', 'the database cannot be reached')
    const error = toConnectError(refusal, new Headers(), OPTIONS)
    expect([error.code, error.metadata.get('retry-after')]).toEqual([Code.Unavailable, '5'])
  })

  it.each<[string, () => Error]>([
    ['a domain error', () => new DomainError('project_not_found', MUCH, { metadata: { project_id: MUCH } })],
    ['a Connect error', () => new ConnectError(MUCH, Code.NotFound)],
    ['an invalid argument', () => new ConnectError(MUCH, Code.InvalidArgument)],
    ['many violations', () => violated(Array.from({ length: 10_000 }, (_, i) => `states[${i}]`))],
    ['a long violation', () => violated(['states', MUCH])],
  ])('is short, whatever the client has sent: %s', (_, fail) => {
    const error = toConnectError(fail(), new Headers(), OPTIONS)
    const sizes = error.details.map((detail) =>
      'desc' in detail ? toBinary(detail.desc, create(detail.desc, detail.value)).byteLength : detail.value.byteLength,
    )
    expect(encodeURIComponent(error.rawMessage).length).toBeLessThan(2_048)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(2_048)
  })
})
