/** `iam.webkey.v2beta.WebKeyService` (Spec §4.3). */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { WebKeySchema } from '../../../gen/iam/webkey/v2beta/web_key_pb.js'
import type { WebKeyService } from '../../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import type { WebKeys } from '../../app/keys/web-keys.ts'
import { earlyActivationWarning } from '../../domain/keys/publication.ts'
import type { WebKey } from '../../domain/keys/web-key.ts'
import { actorOf } from '../authorization/actor.ts'
import { fromDate, sendWarnings } from '../messages/fields.ts'
import { stateOf, toWebKeyConfig } from './web-key-mapping.ts'

export function webKeyBetaService(webKeys: WebKeys): ServiceImpl<typeof WebKeyService> {
  return {
    async createWebKey(req, context) {
      const { key, warnings } = await webKeys.create(actorOf(context), toWebKeyConfig(req.config), context.signal)
      sendWarnings(context, warnings)
      return { details: { keyId: key.keyId, state: stateOf(key), algorithm: key.algorithm } }
    },

    async activateWebKey(req, context) {
      const { key, knownFrom } = await webKeys.activate(actorOf(context), req.keyId)
      if (knownFrom !== undefined) sendWarnings(context, [earlyActivationWarning(knownFrom)])
      return { details: { keyId: key.keyId, state: stateOf(key) } }
    },

    async listWebKeys() {
      return { webKeys: (await webKeys.list()).map(fromWebKey) }
    },

    async deleteWebKey(req, context) {
      const deletedAt = await webKeys.delete(actorOf(context), req.keyId)
      return { details: { changeDate: timestampFromDate(deletedAt) } }
    },
  }
}

/** A web key on the wire (Spec §2.2). */
function fromWebKey(key: WebKey): MessageInitShape<typeof WebKeySchema> {
  return {
    keyId: key.keyId,
    algorithm: key.algorithm,
    state: stateOf(key),
    creationDate: timestampFromDate(key.createdAt),
    ...fromDate('activationDate', key.state === 'initial' ? null : key.activatedAt),
    ...fromDate('deactivationDate', key.state === 'inactive' ? key.deactivatedAt : null),
  }
}
