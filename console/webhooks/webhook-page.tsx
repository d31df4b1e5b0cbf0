/**
 * One webhook: what is sent to it, and how delivery goes.
 */
import { useState } from 'preact/hooks'
import { type Webhook, WebhookState } from '../../gen/iam/event/v2/webhook_pb.js'
import { webhookService } from '../api/clients.ts'
import { unlessMissing } from '../api/failure.ts'
import { now } from '../live/clock.ts'
import { useLoaded } from '../live/loaded.ts'
import { linkTo } from '../navigation/route.ts'
import { useAction } from '../parts/action.ts'
import { DialogButton } from '../parts/confirm-dialog.tsx'
import { Copyable } from '../parts/copyable.tsx'
import { ItemView } from '../parts/loaded-view.tsx'
import { Badge, FailureNotice, Notice, Outcome } from '../parts/notice.tsx'
import { CardSection, DistanceFact, Fact, PageHeading } from '../parts/page.tsx'
import { When } from '../parts/when.tsx'
import { may } from '../session/session.ts'
import {
  ChangeWebhookDialog,
  DeleteWebhookButton,
  RotateSecretDialog,
  SwitchWebhookButton,
} from './webhook-dialogs.tsx'
import { stateOfWebhook, waitingEventsOf } from './webhooks-page.tsx'

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
  const test = useTest(webhookId)
  return (
    <>
      <PageHeading title={name} subtitle={<Copyable text={url} what="the URL" />}>
        {may('iam.webhook.write') && (
          <>
            <button type="button" class="button" disabled={test.isRunning} onClick={() => void test.run()}>
              {test.isRunning ? 'Sending…' : 'Send a test event'}
            </button>
            <DialogButton verb="Change" dialog={<ChangeWebhookDialog webhook={webhook} />} />
            <DialogButton verb="Rotate secret" dialog={<RotateSecretDialog webhook={webhook} />} />
            <SwitchWebhookButton webhook={webhook} />
          </>
        )}
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
