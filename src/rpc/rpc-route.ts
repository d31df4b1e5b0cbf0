/**
 * What the path of a route says about the RPC behind it.
 */

/** `/package.Service/Method` */
const RPC_ROUTE = /^\/[\w.]+\.\w+\/\w+$/

/** Whether there is a method of an RPC service at this route. */
export function isRpc(route: string): boolean {
  return RPC_ROUTE.test(route)
}

/** The method with the full name of its service, such as `iam.webkey.v2beta.WebKeyService/CreateWebKey`. */
export function rpcMethodOf(route: string): string {
  return route.slice(1)
}
