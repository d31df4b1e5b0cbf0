/**
 * `iam.event.v2.WebhookService`.
 */
import type { ServiceImpl } from '@connectrpc/connect'
import type { WebhookService } from '../../../gen/iam/event/v2/webhook_service_pb.js'
import type { Webhooks, WebhookView } from '../../app/events/webhooks.ts'
import { actorOf } from '../authorization/actor.ts'
import { byName, fromMemory, listPage } from '../messages/paging.ts'
import { fromTest, fromWebhook, toEdit, toSettings } from './webhook-mapping.ts'

const WEBHOOKS = byName(({ webhook }: WebhookView) => webhook.name)

/** For how long two secrets sign unless a request says so. */
const DEFAULT_OVERLAP_SECONDS = 86_400

/** Answers the calls of the service. */
export function webhookService(webhooks: Webhooks): ServiceImpl<typeof WebhookService> {
  return {
    async createWebhook(req, context) {
      const { view, secret } = await webhooks.create(actorOf(context), toSettings(req))
      return { webhook: fromWebhook(view), secret }
    },

    async getWebhook(req) {
      return { webhook: fromWebhook(await webhooks.get(req.webhookId)) }
    },

    async listWebhooks(req) {
      const read = fromMemory(await webhooks.list(), ({ webhook }, cursor: string) => webhook.name > cursor)
      const { items, nextPageToken } = await listPage(req, WEBHOOKS, read)
      return { webhooks: items.map(fromWebhook), nextPageToken }
    },

    async updateWebhook(req, context) {
      return { webhook: fromWebhook(await webhooks.edit(actorOf(context), req.webhookId, toEdit(req))) }
    },

    async rotateWebhookSecret(req, context) {
      const overlap = req.overlapSeconds ?? DEFAULT_OVERLAP_SECONDS
      const { view, secret } = await webhooks.rotateSecret(actorOf(context), req.webhookId, overlap)
      return { webhook: fromWebhook(view), secret }
    },

    async testWebhook(req, context) {
      return fromTest(await webhooks.test(actorOf(context), req.webhookId))
    },

    async deleteWebhook(req, context) {
      await webhooks.delete(actorOf(context), req.webhookId)
      return {}
    },
  }
}
