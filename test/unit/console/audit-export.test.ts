import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from '@jest/globals'
import { fileOf, headOf, linesOf } from '../../../console/audit/audit-export.ts'
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

  it.each([
    ['whole', 100, true, 100_000],
    ['cut off after 100 000 events', 101, false, 100_000],
  ])('are a file that is %s', async (_, pageCount, isWhole, lines) => {
    async function* pages() {
      for (let page = 0; page < pageCount; page += 1) yield Array.from({ length: 1000 }, () => event)
    }
    const counts: number[] = []
    const file = await fileOf('jsonl', pages(), (count) => counts.push(count))
    expect(file.isWhole).toBe(isWhole)
    expect((await file.content.text()).split('\n')).toHaveLength(lines + 1)
    expect(counts.slice(0, 2)).toEqual([1000, 2000])
  })
})
