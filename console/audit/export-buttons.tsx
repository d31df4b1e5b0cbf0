/**
 * Saves the events that fit the filters as a file, page by page, and says how far it is. It ends with the page.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import { auditTrail, IN_BACKGROUND } from '../api/clients.ts'
import { pagesOf } from '../api/every-page.ts'
import { useAction } from '../parts/action.ts'
import { FailureNotice } from '../parts/notice.tsx'
import { type ExportFormat, fileOf, MOST_EVENTS } from './audit-export.ts'
import { type AuditFilter, requestOf } from './audit-filter.ts'

export function ExportButtons({ filter }: { readonly filter: AuditFilter }) {
  const [count, setCount] = useState(0)
  const [isCut, setIsCut] = useState(false)
  const abort = useRef<AbortController>(undefined)
  useEffect(() => () => abort.current?.abort(), [])
  const action = useAction(async (format: ExportFormat) => {
    abort.current = new AbortController()
    const { signal } = abort.current
    setCount(0)
    setIsCut(false)
    try {
      const { content, isWhole } = await fileOf(format, eventsOf(filter, signal), setCount)
      save(content, `keyturn-audit.${format}`)
      setIsCut(!isWhole)
    } catch (error) {
      if (!signal.aborted) throw error
    }
  })
  return (
    <>
      <span role="status" class="quiet">
        {action.isRunning && `${count} events…`}
        {isCut && `The file has the newest ${MOST_EVENTS} events only. Filter them to save the others.`}
      </span>
      {action.isRunning && (
        <button type="button" class="button" onClick={() => abort.current?.abort()}>
          Cancel
        </button>
      )}
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

/** Only the first page is caused by a person: an export must not keep a session in use. */
async function* eventsOf(filter: AuditFilter, signal: AbortSignal) {
  const pages = pagesOf(async (page) => {
    const options = { signal, ...(page.pageToken === '' ? {} : IN_BACKGROUND) }
    return auditTrail.listAuditEvents({ ...(await requestOf(filter, options)), ...page }, options)
  })
  for await (const { events } of pages) yield events
}

function save(content: Blob, name: string): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
