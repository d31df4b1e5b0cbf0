import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from '@jest/globals'
import { headOf, linesOf } from '../../../console/audit/audit-export.ts'
import { AuditEventSchema } from '../../../gen/iam/audit/v2/audit_service_pb.js'

const event = create(AuditEventSchema, {
  eventDate: timestampFromMs(0),
  actor: 'system',
  action: '=cmd()',
  resource: 'a "quoted", part',
  outcome: 'ok',
})

describe('saved events of the audit trail', () => {
  it('are CSV, in which no cell is a formula', () => {
    const [head, line, ...rest] = `${headOf('csv')}${linesOf('csv', [event])}`.split('\r\n')
    expect(head).toMatch(/^event_date,outcome,action,actor,resource,/)
    expect(line).toBe(`1970-01-01T00:00:00.000Z,ok,'=cmd(),system,"a ""quoted"", part",,,,`)
    expect(rest).toEqual([''])
  })

  it('are JSON lines as the API writes events', () => {
    expect(headOf('jsonl')).toBe('')
    const [line = ''] = linesOf('jsonl', [event, event]).split('\n')
    expect(JSON.parse(line)).toMatchObject({ eventDate: '1970-01-01T00:00:00Z', actor: 'system', outcome: 'ok' })
  })
})
