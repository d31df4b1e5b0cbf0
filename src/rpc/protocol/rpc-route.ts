/** Which method the route of an RPC names. */

/** `/package.Service/Method`, for the console behind a prefix. */
const RPC_ROUTE = /^(?:\/console\/api)?\/[\w.]+\.\w+\/\w+$/

export function isRpc(route: string): boolean {
  return RPC_ROUTE.test(route)
}

/** The method with the full name of its service, such as `iam.webkey.v2beta.WebKeyService/CreateWebKey`. */
export function rpcMethodOf(route: string): string {
  return route.split('/').slice(-2).join('/')
}
