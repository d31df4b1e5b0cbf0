/**
 * Who calls methods that are deprecated, and would be broken by their removal.
 */
import { useState } from 'preact/hooks'
import type { DeprecatedCalls } from '../../gen/iam/instance/v2/instance_service_pb.js'
import { instanceService } from '../api/clients.ts'
import { millisecondsOf } from '../format/moment.ts'
import { useLoaded } from '../live/loaded.ts'
import { linkTo } from '../navigation/route.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { Distance, When } from '../parts/when.tsx'

/** So many are shown at first. */
const FEW = 20

export function DeprecatedCallsSection() {
  const [isWhole, setIsWhole] = useState(false)
  const loaded = useLoaded(
    'deprecated-calls',
    async (options) => (await instanceService.listDeprecatedCalls({}, options)).deprecatedCalls,
    { isPeriodic: true },
  )
  return (
    <section class="card" aria-labelledby="deprecated-calls-title">
      <div class="card-head">
        <h2 id="deprecated-calls-title">Calls of deprecated methods</h2>
      </div>
      <LoadedView loaded={loaded}>
        {(calls) => (
          <>
            <DataTable
              caption="Calls of deprecated methods, the latest first"
              columns={COLUMNS}
              rows={isWhole ? calls : calls.slice(0, FEW)}
              keyOf={({ userId, method }) => `${userId} ${method}`}
              empty="None has been seen."
            />
            {!isWhole && calls.length > FEW && (
              <button type="button" class="button" onClick={() => setIsWhole(true)}>
                Show all {calls.length}
              </button>
            )}
          </>
        )}
      </LoadedView>
    </section>
  )
}

const COLUMNS: readonly Column<DeprecatedCalls>[] = [
  {
    name: 'Caller',
    kind: 'main',
    cell: ({ userId, userName }) => (
      <a href={linkTo(['users', userId])} title={userId}>
        {userName}
      </a>
    ),
  },
  { name: 'Method', kind: 'text', cell: ({ method }) => <code>{method}</code> },
  { name: 'Calls', cell: ({ count }) => String(count) },
  { name: 'First', cell: ({ firstCallDate }) => <When at={millisecondsOf(firstCallDate)} /> },
  { name: 'Last', cell: ({ lastCallDate }) => <Distance at={millisecondsOf(lastCallDate)} /> },
]
