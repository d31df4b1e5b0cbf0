/**
 * One webhook: what is sent to it, and how delivery goes.
 */
import { Code, ConnectError } from '@connectrpc/connect'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type Webhook, WebhookState } from '../../gen/iam/event/v2/webhook_pb.js'
import { webhookService } from '../api/clients.ts'
import { millisecondsOf } from '../format/moment.ts'
import { useLoaded } from '../live/loaded.ts'
import { linkTo } from '../navigation/route.ts'
import { useAction } from '../parts/action.ts'
import { Copyable } from '../parts/copyable.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { FailureNotice, Notice } from '../parts/notice.tsx'
import { Outcome } from '../parts/outcome.tsx'
import { PageHeading } from '../parts/page-heading.tsx'
import { Distance, When } from '../parts/when.tsx'
import { may } from '../session/session.ts'
import {
  ChangeWebhookDialog,
  DeleteWebhookDialog,
  RotateSecretDialog,
  SwitchWebhookDialog,
} from './webhook-dialogs.tsx'
import { waitingEventsOf } from './webhook-state.ts'
import { WebhookBadge } from './webhooks-page.tsx'

export function WebhookPage({ id: webhookId }: { readonly id: string }) {
  const loaded = useLoaded(
    `webhook ${webhookId}`,
    async (options) => {
      try {
        return (await webhookService.getWebhook({ webhookId }, options)).webhook ?? null
      } catch (error) {
        if (ConnectError.from(error).code === Code.NotFound) return null
        throw error
      }
    },
    { isPeriodic: true },
  )
  return (
    <>
      <p class="crumbs">
        <a href={linkTo(['webhooks'])}>Webhooks</a>
      </p>
      <LoadedView loaded={loaded}>
        {(webhook) => (webhook === null ? <p>There is no such webhook.</p> : <LoadedWebhook webhook={webhook} />)}
      </LoadedView>
    </>
  )
}

type Open = 'change' | 'rotate' | 'switch' | 'delete'

function LoadedWebhook({ webhook }: { readonly webhook: Webhook }) {
  const [open, setOpen] = useState<Open>()
  const { webhookId, name, url, state, creationDate } = webhook
  const shared = { webhook, onClose: () => setOpen(undefined) }
  const test = useTest(webhookId)
  return (
    <>
      <PageHeading title={name} subtitle={<Copyable text={url} what="the URL" />}>
        {may('iam.webhook.write') && (
          <>
            <button type="button" class="button" disabled={test.isRunning} onClick={() => void test.run()}>
              {test.isRunning ? 'Sending…' : 'Send a test event'}
            </button>
            <button type="button" class="button" onClick={() => setOpen('change')}>
              Change
            </button>
            <button type="button" class="button" onClick={() => setOpen('rotate')}>
              Rotate secret
            </button>
            <button type="button" class="button" onClick={() => setOpen('switch')}>
              {state === WebhookState.ENABLED ? 'Disable' : 'Enable'}
            </button>
          </>
        )}
        {may('iam.webhook.delete') && (
          <button type="button" class="button" onClick={() => setOpen('delete')}>
            Delete
          </button>
        )}
      </PageHeading>
      <Outcome text={test.outcome} onClose={test.forget} />
      <FailureNotice failure={test.failure} />
      <p class="summary">
        <WebhookBadge webhook={webhook} /> Created <When at={millisecondsOf(creationDate)} />.{' '}
        {may('iam.audit.read') && (
          <a href={linkTo(['audit'], { resource: `webhooks/${webhookId}` })}>What was done to it</a>
        )}
      </p>
      <Delivery webhook={webhook} />
      <Settings webhook={webhook} />
      {open === 'change' && <ChangeWebhookDialog {...shared} />}
      {open === 'rotate' && <RotateSecretDialog {...shared} />}
      {open === 'switch' && <SwitchWebhookDialog {...shared} />}
      {open === 'delete' && <DeleteWebhookDialog {...shared} />}
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

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Delivery({ webhook }: { readonly webhook: Webhook }) {
  const { state, delivery } = webhook
  const failures = delivery?.failures ?? 0
  const isTrying = state === WebhookState.ENABLED && failures > 0
  return (
    <section class="card" aria-labelledby="delivery-title">
      <h2 id="delivery-title">Delivery</h2>
      {state === WebhookState.GONE && (
        <Notice kind="warning">
          <p>The receiver has answered 410 Gone, which disabled it. Events wait until it is enabled again.</p>
        </Notice>
      )}
      {isTrying && (
        <Notice kind="warning">
          <p>
            The first of the events that wait has failed {failures === 1 ? 'once' : `${failures} times`}: the receiver{' '}
            {delivery?.lastFailure}.
          </p>
        </Notice>
      )}
      <dl class="facts">
        <Fact name="Last delivered">
          <Distance at={millisecondsOf(delivery?.lastSuccessDate)} otherwise="never" />
        </Fact>
        <Fact name="Last failure">
          <Distance at={millisecondsOf(delivery?.lastFailureDate)} otherwise="never" />
        </Fact>
        <Fact name="Events that wait">
          {waitingEventsOf(webhook)}
          {delivery?.waitingSinceDate !== undefined && (
            <>
              , the first since <When at={millisecondsOf(delivery.waitingSinceDate)} />
            </>
          )}
        </Fact>
        {isTrying && (
          <Fact name="Next attempt">
            <Distance at={millisecondsOf(delivery?.nextAttemptDate)} />
          </Fact>
        )}
        <Fact name="Given up">{String(delivery?.givenUpEvents ?? 0)}</Fact>
        <Fact name="Deleted while they waited">{String(delivery?.expiredEvents ?? 0)}</Fact>
        <Fact name="Last test">
          <Distance at={millisecondsOf(webhook.lastTestDate)} otherwise="never" />
        </Fact>
      </dl>
    </section>
  )
}

function Settings({ webhook }: { readonly webhook: Webhook }) {
  const { eventTypes, resources, caCertificates, previousSecretExpirationDate } = webhook
  return (
    <section class="card" aria-labelledby="sent-title">
      <h2 id="sent-title">What is sent</h2>
      <dl class="facts">
        <Fact name="Types of events">{eventTypes.join(', ') || 'all'}</Fact>
        <Fact name="Resources">{resources.join(', ') || 'all'}</Fact>
        <Fact name="Authorities">{caCertificates === '' ? 'the usual ones' : 'its own'}</Fact>
        <Fact name="Signed by">
          {previousSecretExpirationDate === undefined ? (
            'its secret'
          ) : (
            <>
              its secret, and by the one before until <When at={millisecondsOf(previousSecretExpirationDate)} />
            </>
          )}
        </Fact>
      </dl>
    </section>
  )
}
