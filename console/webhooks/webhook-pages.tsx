/**
 * The webhooks: where events are sent, and whether they get there; and one of them: what is sent to it, and how delivery goes.
 */
import { Code, ConnectError } from '@connectrpc/connect'
import { type Webhook, WebhookState } from '../../gen/iam/event/v2/webhook_pb.js'
import { webhookService } from '../api/clients.ts'
import { formatDistance, formatRoughly, millisecondsOf } from '../format/text.ts'
import { now } from '../live/instance.ts'
import { linkTo } from '../navigation/route.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/buttons.tsx'
import { type Column, Listing } from '../parts/data-table.tsx'
import { DialogButton } from '../parts/dialogs.tsx'
import { ItemView } from '../parts/loaded-view.tsx'
import {
  Badge,
  CardSection,
  DistanceFact,
  Fact,
  FailureNotice,
  Notice,
  PageHeading,
  type State,
  usePage,
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
  return (
    <>
      <PageHeading title="Webhooks">
        {may('iam.webhook.write') && (
          <DialogButton text="Create webhook" kind="primary" dialog={<CreateWebhookDialog />} />
        )}
      </PageHeading>
      <p class="summary">
        Events of the audit trail are sent to them as they happen: signed, in order, and at least once.
      </p>
      <section class="card" aria-label="Webhooks">
        <Listing
          caption="Webhooks"
          columns={COLUMNS}
          name="webhooks"
          // Delivery makes no new version.
          isPeriodic
          read={(page, options) => webhookService.listWebhooks(page, options)}
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
  return (
    <ItemView
      place={['webhooks', 'Webhooks']}
      id={webhookId}
      isPeriodic
      read={async (options) => (await webhookService.getWebhook({ webhookId }, options)).webhook}
    >
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
          <>
            <Button
              text={test.isRunning ? 'Sending…' : 'Send a test event'}
              disabled={test.isRunning}
              onClick={() => void test.run()}
            />
            <DialogButton text="Change" dialog={<ChangeWebhookDialog webhook={webhook} />} />
            <DialogButton text="Rotate secret" dialog={<RotateSecretDialog webhook={webhook} />} />
            <SwitchWebhookButton webhook={webhook} />
          </>
        )}
        {may('iam.webhook.delete') && <DeleteWebhookButton webhook={webhook} />}
      </PageHeading>
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
  const { say } = usePage()
  return useAction(async () => {
    say('')
    const { delivered, failure, durationMilliseconds } = await webhookService.testWebhook({ webhookId })
    if (!delivered) {
      throw new ConnectError(`the test event was not delivered: the receiver ${failure}`, Code.FailedPrecondition)
    }
    say(`The test event was delivered in ${durationMilliseconds} ms.`)
  })
}

function Delivery({ webhook }: { readonly webhook: Webhook }) {
  const { state, delivery } = webhook
  const failures = delivery?.failures ?? 0
  const isTrying = state === WebhookState.ENABLED && failures > 0
  return (
    <CardSection title="Delivery">
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
    <CardSection title="What is sent">
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
