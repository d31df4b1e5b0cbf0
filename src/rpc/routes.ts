/**
 * The RPC services as one request handler: gRPC, gRPC-Web and Connect on the same paths.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { createValidateInterceptor } from '@connectrpc/validate'
import { WebKeyService } from '../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import type { Access } from '../app/access.ts'
import type { WebKeys } from '../app/web-keys.ts'
import type { Log } from '../domain/ports.ts'
import { authorize } from './interceptors/authorize.ts'
import { translateErrors } from './interceptors/errors.ts'
import { permissionsOf } from './method-permissions.ts'
import { webKeyService } from './web-key-service.ts'

/** The largest message that is read, in bytes, also after decompression. */
const MAX_MESSAGE_BYTES = 64 * 1024

/** The longest deadline that a client can set, in milliseconds. */
const MAX_DEADLINE = 60_000

/** What the services need. */
export interface RpcOptions {
  readonly webKeys: WebKeys
  readonly access: Access
  readonly log: Log
}

/** Makes the handler of all RPC services. @throws {Error} if a method names no permission. */
export function createRpcHandler({
  webKeys,
  access,
  log,
}: RpcOptions): (req: IncomingMessage, res: ServerResponse) => void {
  return connectNodeAdapter({
    // The first one is the outermost: refusals of the others are translated, and strangers learn nothing of the rules.
    interceptors: [
      translateErrors(log),
      authorize(access, permissionsOf([WebKeyService])),
      createValidateInterceptor(),
    ],
    // A misspelt field or enum name must not make another key than asked.
    jsonOptions: { ignoreUnknownFields: false },
    readMaxBytes: MAX_MESSAGE_BYTES,
    maxTimeoutMs: MAX_DEADLINE,
    routes: (router) => {
      router.service(WebKeyService, webKeyService(webKeys))
    },
  })
}
