/**
 * `zitadel.webkey.v2.WebKeyService` and `zitadel.webkey.v2beta.WebKeyService`: the web keys in the messages that clients of ZITADEL
 * send and expect.
 *
 * Both have the same messages. Where the behaviour differs from that of `iam.webkey`, a client needs it: see `docs/zitadel.md`.
 */
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { WebKeyService } from '../../../gen/zitadel/webkey/v2/webkey_service_pb.js'
import { WebKeyService as BetaWebKeyService } from '../../../gen/zitadel/webkey/v2beta/webkey_service_pb.js'
import type { WebKeys } from '../../app/keys/web-keys.ts'
import { configOf, DEFAULT_WEB_KEY_CONFIG } from '../../domain/keys/key-algorithm.ts'
import { earlyActivationWarning } from '../../domain/keys/publication.ts'
import type { WebKey } from '../../domain/keys/web-key.ts'
import { actorOf } from '../authorization/actor.ts'
import { fromDate, sendWarnings } from '../messages/fields.ts'
import type { RestBinding } from '../protocol/rest.ts'
import { fromKind, stateOf, toKind } from './web-key-mapping.ts'

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
    state: stateOf(key),
    key: fromKind(configOf(key.algorithm, key.publicJwk)),
  }
}

const { createWebKey, activateWebKey, listWebKeys, deleteWebKey } = BetaWebKeyService.method
const { listWebKeys: listWebKeysV2, deleteWebKey: deleteWebKeyV2 } = WebKeyService.method

/** The REST paths. `v2` has none for creation and activation. */
export const ZITADEL_REST: readonly RestBinding[] = [
  { httpMethod: 'POST', path: '/v2beta/web_keys', method: createWebKey, hasBody: true },
  { httpMethod: 'GET', path: '/v2beta/web_keys', method: listWebKeys, hasBody: false },
  { httpMethod: 'POST', path: '/v2beta/web_keys/{id}/activate', method: activateWebKey, hasBody: false },
  { httpMethod: 'DELETE', path: '/v2beta/web_keys/{id}', method: deleteWebKey, hasBody: false },
  { httpMethod: 'GET', path: '/v2/web_keys', method: listWebKeysV2, hasBody: false },
  { httpMethod: 'DELETE', path: '/v2/web_keys/{id}', method: deleteWebKeyV2, hasBody: false },
]

const METHODS: ReadonlyMap<string, string> = new Map(
  ZITADEL_REST.map(({ httpMethod, path, method }) => [
    `${httpMethod} ${path}`,
    `${method.parent.typeName}/${method.name}`,
  ]),
)

/** The RPC method of a route, with the full name of its service. Undefined if it is not one of these paths. */
export function restMethodOf(httpMethod: string, route: string): string | undefined {
  return METHODS.get(`${httpMethod} ${route}`)
}

export function isZitadelRest(path: string): boolean {
  return /^\/v2(?:beta)?\/web_keys(?:\/|$)/.test(path)
}
