/**
 * The webhooks: where events are sent, and whether they get there.
 */
import { type Webhook, WebhookState } from '../../gen/iam/event/v2/webhook_pb.js'
import { webhookService } from '../api/clients.ts'
import { everyItemOf } from '../api/every-page.ts'
import { formatDistance, formatRoughly, millisecondsOf } from '../format/text.ts'
import { now } from '../live/clock.ts'
import { useLoaded } from '../live/loaded.ts'
import { linkTo } from '../navigation/route.ts'
import { DialogButton } from '../parts/confirm-dialog.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { Badge, type State } from '../parts/notice.tsx'
import { PageHeading } from '../parts/page.tsx'
import { may } from '../session/session.ts'
import { CreateWebhookDialog } from './webhook-dialogs.tsx'

export function WebhooksPage() {
  const loaded = useLoaded(
    'webhooks',
    (options) => everyItemOf('webhooks', (page) => webhookService.listWebhooks(page, options)),
    // Delivery makes no new version.
    { isPeriodic: true },
  )
  return (
    <>
      <PageHeading title="Webhooks">
        {may('iam.webhook.write') && <DialogButton verb="Create webhook" isPrimary dialog={<CreateWebhookDialog />} />}
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
  { name: 'State', kind: 'text', cell: (webhook) => <Badge {...stateOfWebhook(webhook, now.value)} /> },
  { name: 'Events that wait', cell: waitingEventsOf },
]

/** How delivery goes, in a few words. */
export function stateOfWebhook({ state, delivery }: Webhook, now: number): State {
  if (state === WebhookState.GONE) return { text: 'disabled: its receiver is gone', tone: 'danger' }
  if (state !== WebhookState.ENABLED) return { text: 'disabled', tone: '' }
  const [waitingSince, deliveredAt] = [delivery?.waitingSinceDate, delivery?.lastSuccessDate].map(millisecondsOf)
  if ((delivery?.failures ?? 0) > 0 && waitingSince !== undefined)
    return { text: `failing for ${formatRoughly(now - waitingSince)}`, tone: 'danger' }
  if (deliveredAt === undefined) return { text: 'nothing delivered yet', tone: '' }
  return { text: `delivered ${formatDistance(deliveredAt, now)}`, tone: 'success' }
}

/** How many events wait. Only the first 1000 are looked at. */
export function waitingEventsOf({ delivery }: Webhook): string {
  const waiting = delivery?.waitingEvents ?? 0
  if (waiting === 0) return 'none'
  return waiting < COUNTED ? String(waiting) : `${COUNTED} or more`
}

const COUNTED = 1000
