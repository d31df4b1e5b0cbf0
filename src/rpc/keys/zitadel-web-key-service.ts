/**
 * `zitadel.webkey.v2.WebKeyService` and `zitadel.webkey.v2beta.WebKeyService`: the web keys in the messages that clients of ZITADEL
 * send and expect.
 *
 * Both have the same messages. Where the behaviour differs from that of `iam.webkey`, a client needs it: see `docs/zitadel.md`.
 */
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { State } from '../../../gen/zitadel/webkey/v2/key_pb.js'
import type { WebKeyService } from '../../../gen/zitadel/webkey/v2/webkey_service_pb.js'
import type { WebKeyService as BetaWebKeyService } from '../../../gen/zitadel/webkey/v2beta/webkey_service_pb.js'
import type { WebKeys } from '../../app/keys/web-keys.ts'
import { configOf, DEFAULT_WEB_KEY_CONFIG } from '../../domain/keys/key-algorithm.ts'
import { earlyActivationWarning } from '../../domain/keys/publication.ts'
import type { WebKey, WebKeyState } from '../../domain/keys/web-key.ts'
import { actorOf } from '../authorization/actor.ts'
import { fromDate, sendWarnings } from '../messages/fields.ts'
import { fromKind, toKind } from './web-key-mapping.ts'

const STATES = {
  initial: State.INITIAL,
  active: State.ACTIVE,
  inactive: State.INACTIVE,
} as const satisfies Record<WebKeyState, State>

/** Answers the calls of both services. */
export function zitadelWebKeyService(
  webKeys: WebKeys,
): ServiceImpl<typeof WebKeyService> & ServiceImpl<typeof BetaWebKeyService> {
  return {
    async createWebKey(req, context) {
      const config = req.key.case === undefined ? DEFAULT_WEB_KEY_CONFIG : toKind(req.key)
      const { key, warnings } = await webKeys.create(actorOf(context), config, context.signal)
      sendWarnings(context, warnings)
      return { id: key.keyId, creationDate: timestampFromDate(key.createdAt) }
    },

    async activateWebKey(req, context) {
      const { key, knownFrom } = await webKeys.activate(actorOf(context), req.id)
      if (knownFrom !== undefined) sendWarnings(context, [earlyActivationWarning(knownFrom)])
      return { changeDate: timestampFromDate(key.activatedAt) }
    },

    async deleteWebKey(req, context) {
      return fromDate('deletionDate', (await webKeys.discard(actorOf(context), req.id)) ?? null)
    },

    async listWebKeys() {
      return { webKeys: (await webKeys.list()).map(fromWebKey) }
    },
  }
}

/** A web key in the fields of both messages. */
function fromWebKey(key: WebKey) {
  let changedAt = key.createdAt
  if (key.state !== 'initial') changedAt = key.state === 'active' ? key.activatedAt : key.deactivatedAt
  return {
    id: key.keyId,
    creationDate: timestampFromDate(key.createdAt),
    changeDate: timestampFromDate(changedAt),
    state: STATES[key.state] as number,
    key: fromKind(configOf(key.algorithm, key.publicJwk)),
  }
}
