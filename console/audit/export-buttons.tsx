/**
 * Saves the events that fit the filters as a file, page by page, and says how far it is.
 */
import { useState } from 'preact/hooks'
import { auditTrail } from '../api/clients.ts'
import { pagesOf } from '../api/every-page.ts'
import { useAction } from '../parts/action.ts'
import { FailureNotice } from '../parts/notice.tsx'
import { type ExportFormat, headOf, linesOf, MEDIA_TYPES } from './audit-export.ts'
import { type AuditFilter, requestOf } from './audit-filter.ts'

export function ExportButtons({ filter }: { readonly filter: AuditFilter }) {
  const [count, setCount] = useState(0)
  const action = useAction(async (format: ExportFormat) => {
    const parts = [headOf(format)]
    let read = 0
    setCount(0)
    const pages = pagesOf(async (page) => {
      const { events: items, nextPageToken } = await auditTrail.listAuditEvents({ ...requestOf(filter), ...page })
      return { items, nextPageToken }
    })
    for await (const events of pages) {
      parts.push(linesOf(format, events))
      read += events.length
      setCount(read)
    }
    save(new Blob(parts, { type: MEDIA_TYPES[format] }), `keyturn-audit.${format}`)
  })
  return (
    <>
      <span role="status" class="quiet">
        {action.isRunning && `${count} events…`}
      </span>
      <button type="button" class="button" disabled={action.isRunning} onClick={() => void action.run('csv')}>
        Export CSV
      </button>
      <button type="button" class="button" disabled={action.isRunning} onClick={() => void action.run('jsonl')}>
        Export JSON lines
      </button>
      <FailureNotice failure={action.failure} />
    </>
  )
}

function save(content: Blob, name: string): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
