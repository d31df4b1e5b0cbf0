/** `iam.webkey.v2.WebKeyService`. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { WebKeyState } from '../../../gen/iam/webkey/v2/web_key_pb.js'
import type { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import type { WebKeys } from '../../app/keys/web-keys.ts'
import { actorOf } from '../authorization/actor.ts'
import { fromDate, sendWarnings } from '../messages/fields.ts'
import {
  fromPlannedStep,
  fromPolicy,
  fromWebKey,
  isListed,
  toPolicyChanges,
  toWebKeyConfig,
} from './web-key-mapping.ts'

const DEFAULT_STEPS = 10

export function webKeyService(webKeys: WebKeys): ServiceImpl<typeof WebKeyService> {
  return {
    async createWebKey(req, context) {
      const { key, warnings } = await webKeys.create(actorOf(context), toWebKeyConfig(req.config), context.signal)
      sendWarnings(context, warnings)
      return { webKey: fromWebKey(key), warnings: [...warnings] }
    },

    async activateWebKey(req, context) {
      const { key, knownFrom } = await webKeys.activate(actorOf(context), req.keyId)
      return { webKey: fromWebKey(key), ...fromDate('knownFrom', knownFrom ?? null) }
    },

    getWebKey: async ({ keyId }) => ({ webKey: fromWebKey(await webKeys.get(keyId)) }),

    async listWebKeys({ states }) {
      const revoked = states.includes(WebKeyState.REVOKED) ? await webKeys.listRevoked() : []
      const keys = [...(await webKeys.list()), ...revoked].filter((key) => isListed(key, states))
      return { webKeys: keys.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime()).map(fromWebKey) }
    },

    async deleteWebKey(req, context) {
      return { deletionDate: timestampFromDate(await webKeys.delete(actorOf(context), req.keyId)) }
    },

    async rotateWebKey(_req, context) {
      const { done, doneAt, key } = await webKeys.rotate(actorOf(context))
      return {
        done,
        rotationDate: timestampFromDate(doneAt),
        ...(key === undefined ? {} : { webKey: fromWebKey(key) }),
      }
    },

    async revokeWebKey(req, context) {
      const { key, active, trustedUntil } = await webKeys.revoke(actorOf(context), req.keyId)
      return {
        webKey: fromWebKey(key),
        ...(active === undefined ? {} : { activeWebKey: fromWebKey(active) }),
        trustedUntil: timestampFromDate(trustedUntil),
      }
    },

    getRotationPolicy: async () => ({ policy: fromPolicy(await webKeys.policy()) }),

    async updateRotationPolicy({ policy, updateMask }, context) {
      const changed = await webKeys.changePolicy(actorOf(context), toPolicyChanges(policy, updateMask))
      sendWarnings(context, changed.warnings)
      return { policy: fromPolicy(changed.policy), warnings: [...changed.warnings] }
    },

    async getRotationSchedule({ count, policy, updateMask }) {
      const isPreview = policy !== undefined || updateMask !== undefined
      const changes = isPreview ? toPolicyChanges(policy, updateMask) : {}
      const { steps, warnings } = await webKeys.schedule(count === 0 ? DEFAULT_STEPS : count, changes)
      return { steps: steps.map(fromPlannedStep), warnings: [...warnings] }
    },
  }
}
