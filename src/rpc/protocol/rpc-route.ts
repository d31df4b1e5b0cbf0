/** A route of an RPC method: how its path is answered, and which method it names. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RestBinding } from './rest.ts'

/** Answers a request. @throws The error that prevented a response, if the client is still connected. */
export type Answer = (req: IncomingMessage, res: ServerResponse) => Promise<void>

export interface RpcRoute {
  /** By HTTP method. A method without side effects may be called by GET. */
  readonly answers: Readonly<Partial<Record<RestBinding['httpMethod'], Answer>>>
  /** Headers of every response at the path, refusals of the router included. */
  readonly headers: Readonly<Record<string, string>>
  readonly anyOrigin: boolean
  /** The longest body with a Content-Length, in bytes. Default: that of all paths. */
  readonly maxBodyBytes?: number
}

/** By path, or by path template. */
export type RpcRoutes = ReadonlyMap<string, RpcRoute>

/** `/package.Service/Method`, for the console behind a prefix. */
const RPC_ROUTE = /^(?:\/console\/api)?\/[\w.]+\.\w+\/\w+$/

export function isRpc(route: string): boolean {
  return RPC_ROUTE.test(route)
}

/** The method with the full name of its service, such as `iam.webkey.v2beta.WebKeyService/CreateWebKey`. */
export function rpcMethodOf(route: string): string {
  return route.split('/').slice(-2).join('/')
}
