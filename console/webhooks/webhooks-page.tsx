/**
 * The webhooks: where events are sent, and whether they get there.
 */
import { useState } from 'preact/hooks'
import type { Webhook } from '../../gen/iam/event/v2/webhook_pb.js'
import { webhookService } from '../api/clients.ts'
import { everyItemOf } from '../api/every-page.ts'
import { now } from '../live/clock.ts'
import { useLoaded } from '../live/loaded.ts'
import { linkTo } from '../navigation/route.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { PageHeading } from '../parts/page-heading.tsx'
import { may } from '../session/session.ts'
import { CreateWebhookDialog } from './webhook-dialogs.tsx'
import { stateOfWebhook, waitingEventsOf } from './webhook-state.ts'

export function WebhooksPage() {
  const [isCreating, setIsCreating] = useState(false)
  const loaded = useLoaded(
    'webhooks',
    (options) =>
      everyItemOf(async (page) => {
        const { webhooks: items, nextPageToken } = await webhookService.listWebhooks(page, options)
        return { items, nextPageToken }
      }),
    // Delivery makes no new version.
    { isPeriodic: true },
  )
  return (
    <>
      <PageHeading title="Webhooks">
        {may('iam.webhook.write') && (
          <button type="button" class="button is-primary" onClick={() => setIsCreating(true)}>
            Create webhook
          </button>
        )}
      </PageHeading>
      <p class="summary">
        Events of the audit trail are sent to them as they happen: signed, in order, and at least once.
      </p>
      <section class="card" aria-label="Webhooks">
        <LoadedView loaded={loaded}>
          {(webhooks) => (
            <DataTable
              caption="Webhooks"
              columns={COLUMNS}
              rows={webhooks}
              keyOf={({ webhookId }) => webhookId}
              empty="None: events stay in the audit trail."
            />
          )}
        </LoadedView>
      </section>
      {isCreating && <CreateWebhookDialog onClose={() => setIsCreating(false)} />}
    </>
  )
}

const COLUMNS: readonly Column<Webhook>[] = [
  {
    name: 'Name',
    kind: 'main',
    cell: ({ webhookId, name }) => <a href={linkTo(['webhooks', webhookId])}>{name}</a>,
  },
  { name: 'URL', kind: 'text', cell: ({ url }) => url },
  { name: 'State', kind: 'text', cell: (webhook) => <WebhookBadge webhook={webhook} /> },
  { name: 'Events that wait', cell: waitingEventsOf },
]

/** How delivery goes. */
export function WebhookBadge({ webhook }: { readonly webhook: Webhook }) {
  const { text, tone } = stateOfWebhook(webhook, now.value)
  return <span class={tone === '' ? 'badge' : `badge is-${tone}`}>{text}</span>
}
