/**
 * The webhooks: where events are sent, and whether they get there; and one of them: what is sent to it, and how delivery goes.
 */

import { useState } from 'preact/hooks'
import { type Webhook, WebhookState } from '../../gen/iam/event/v2/webhook_pb.js'
import { webhookService } from '../api/clients.ts'
import { unlessMissing } from '../api/failure.ts'
import { formatDistance, formatRoughly, millisecondsOf } from '../format/text.ts'
import { now } from '../live/instance.ts'
import { useLoaded } from '../live/loaded.ts'
import { linkTo } from '../navigation/route.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/buttons.tsx'
import { type Column, Listing, useListing } from '../parts/data-table.tsx'
import { DialogButton } from '../parts/dialogs.tsx'
import { ItemView } from '../parts/loaded-view.tsx'
import {
  Badge,
  CardSection,
  DistanceFact,
  Fact,
  FailureNotice,
  Notice,
  Outcome,
  PageHeading,
  type State,
} from '../parts/page.tsx'
import { Copyable, When } from '../parts/values.tsx'
import { may } from '../session/session.ts'
import {
  ChangeWebhookDialog,
  CreateWebhookDialog,
  DeleteWebhookButton,
  RotateSecretDialog,
  SwitchWebhookButton,
} from './webhook-dialogs.tsx'

export function WebhooksPage() {
  // Delivery makes no new version.
  const loaded = useListing('webhooks', (page, options) => webhookService.listWebhooks(page, options), {
    isPeriodic: true,
  })
  return (
    <>
      <PageHeading title="Webhooks">
        <DialogButton
          verb="Create webhook"
          isPrimary
          isOffered={may('iam.webhook.write')}
          dialog={<CreateWebhookDialog />}
        />
      </PageHeading>
      <p class="summary">
        Events of the audit trail are sent to them as they happen: signed, in order, and at least once.
      </p>
      <section class="card" aria-label="Webhooks">
        <Listing
          caption="Webhooks"
          columns={COLUMNS}
          loaded={loaded}
          rowsOf={(page) => page.webhooks}
          keyOf={({ webhookId }) => webhookId}
          empty="None: events stay in the audit trail."
        />
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
function stateOfWebhook({ state, delivery }: Webhook, now: number): State {
  if (state === WebhookState.GONE) return { text: 'disabled: its receiver is gone', tone: 'danger' }
  if (state !== WebhookState.ENABLED) return { text: 'disabled', tone: '' }
  const [waitingSince, deliveredAt] = [delivery?.waitingSinceDate, delivery?.lastSuccessDate].map(millisecondsOf)
  if ((delivery?.failures ?? 0) > 0 && waitingSince !== undefined)
    return { text: `failing for ${formatRoughly(now - waitingSince)}`, tone: 'danger' }
  if (deliveredAt === undefined) return { text: 'nothing delivered yet', tone: '' }
  return { text: `delivered ${formatDistance(deliveredAt, now)}`, tone: 'success' }
}

/** How many events wait. Only the first 1000 are looked at. */
function waitingEventsOf({ delivery }: Webhook): string {
  const waiting = delivery?.waitingEvents ?? 0
  if (waiting === 0) return 'none'
  return waiting < COUNTED ? String(waiting) : `${COUNTED} or more`
}

const COUNTED = 1000

export function WebhookPage({ id: webhookId }: { readonly id: string }) {
  const loaded = useLoaded(
    `webhook ${webhookId}`,
    async (options) => (await unlessMissing(webhookService.getWebhook({ webhookId }, options)))?.webhook ?? null,
    { isPeriodic: true },
  )
  return (
    <ItemView place={['webhooks', 'Webhooks']} what="webhook" loaded={loaded}>
      {(webhook) => <LoadedWebhook webhook={webhook} />}
    </ItemView>
  )
}

function LoadedWebhook({ webhook }: { readonly webhook: Webhook }) {
  const { webhookId, name, url, creationDate } = webhook
  const mayChange = may('iam.webhook.write')
  const test = useTest(webhookId)
  return (
    <>
      <PageHeading title={name} subtitle={<Copyable text={url} what="the URL" />}>
        {mayChange && (
          <Button
            text={test.isRunning ? 'Sending…' : 'Send a test event'}
            disabled={test.isRunning}
            onClick={() => void test.run()}
          />
        )}
        <DialogButton verb="Change" isOffered={mayChange} dialog={<ChangeWebhookDialog webhook={webhook} />} />
        <DialogButton verb="Rotate secret" isOffered={mayChange} dialog={<RotateSecretDialog webhook={webhook} />} />
        {mayChange && <SwitchWebhookButton webhook={webhook} />}
        {may('iam.webhook.delete') && <DeleteWebhookButton webhook={webhook} />}
      </PageHeading>
      <Outcome text={test.outcome} onClose={test.forget} />
      <FailureNotice failure={test.failure} />
      <p class="summary">
        <Badge {...stateOfWebhook(webhook, now.value)} /> Created <When at={creationDate} />.{' '}
        {may('iam.audit.read') && (
          <a href={linkTo(['audit'], { resource: `webhooks/${webhookId}` })}>What was done to it</a>
        )}
      </p>
      <Delivery webhook={webhook} />
      <Settings webhook={webhook} />
    </>
  )
}

/** Sends a test event. One that was not delivered is a failure, like a refusal of the API. */
function useTest(webhookId: string) {
  const [result, setResult] = useState({ delivered: '', failure: '' })
  const forget = () => setResult({ delivered: '', failure: '' })
  const action = useAction(async () => {
    forget()
    const { delivered, failure, durationMilliseconds } = await webhookService.testWebhook({ webhookId })
    if (delivered) setResult({ delivered: `The test event was delivered in ${durationMilliseconds} ms.`, failure: '' })
    else setResult({ delivered: '', failure: `The test event was not delivered: the receiver ${failure}` })
  })
  const { delivered, failure } = result
  const undelivered = failure === '' ? undefined : { message: failure, reason: '', isTransient: false }
  return { ...action, outcome: delivered, failure: action.failure ?? undelivered, forget }
}

function Delivery({ webhook }: { readonly webhook: Webhook }) {
  const { state, delivery } = webhook
  const failures = delivery?.failures ?? 0
  const isTrying = state === WebhookState.ENABLED && failures > 0
  return (
    <CardSection id="delivery" title="Delivery">
      {state === WebhookState.GONE && (
        <Notice kind="warning">
          The receiver has answered 410 Gone, which disabled it. Events wait until it is enabled again.
        </Notice>
      )}
      {isTrying && (
        <Notice kind="warning">
          The first of the events that wait has failed {failures === 1 ? 'once' : `${failures} times`}: the receiver{' '}
          {delivery?.lastFailure}.
        </Notice>
      )}
      <dl class="facts">
        <DistanceFact name="Last delivered" at={delivery?.lastSuccessDate} otherwise="never" />
        <DistanceFact name="Last failure" at={delivery?.lastFailureDate} otherwise="never" />
        <Fact name="Events that wait">
          {waitingEventsOf(webhook)}
          {delivery?.waitingSinceDate !== undefined && (
            <>
              , the first since <When at={delivery.waitingSinceDate} />
            </>
          )}
        </Fact>
        {isTrying && <DistanceFact name="Next attempt" at={delivery?.nextAttemptDate} />}
        <Fact name="Given up">{String(delivery?.givenUpEvents ?? 0)}</Fact>
        <Fact name="Deleted while they waited">{String(delivery?.expiredEvents ?? 0)}</Fact>
        <DistanceFact name="Last test" at={webhook.lastTestDate} otherwise="never" />
      </dl>
    </CardSection>
  )
}

function Settings({ webhook }: { readonly webhook: Webhook }) {
  const { eventTypes, resources, caCertificates, previousSecretExpirationDate } = webhook
  return (
    <CardSection id="sent" title="What is sent">
      <dl class="facts">
        <Fact name="Types of events">{eventTypes.join(', ') || 'all'}</Fact>
        <Fact name="Resources">{resources.join(', ') || 'all'}</Fact>
        <Fact name="Authorities">{caCertificates === '' ? 'the usual ones' : 'its own'}</Fact>
        <Fact name="Signed by">
          {previousSecretExpirationDate === undefined ? (
            'its secret'
          ) : (
            <>
              its secret, and by the one before until <When at={previousSecretExpirationDate} />
            </>
          )}
        </Fact>
      </dl>
    </CardSection>
  )
}
