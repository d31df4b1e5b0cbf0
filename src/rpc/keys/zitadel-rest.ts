/**
 * The REST paths of the web key services for clients of ZITADEL. `v2` has no paths for creation and activation.
 */
import { WebKeyService } from '../../../gen/zitadel/webkey/v2/webkey_service_pb.js'
import { WebKeyService as BetaWebKeyService } from '../../../gen/zitadel/webkey/v2beta/webkey_service_pb.js'
import type { RestBinding } from '../protocol/rest.ts'

const { createWebKey, activateWebKey, listWebKeys, deleteWebKey } = BetaWebKeyService.method
const { listWebKeys: listWebKeysV2, deleteWebKey: deleteWebKeyV2 } = WebKeyService.method

/** Every method with a REST path. */
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
