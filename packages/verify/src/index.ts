/**
 * `@keyturn/verify`: access tokens on the side of the service that receives them. It runs in Node.js, Deno, Bun and browsers.
 *
 * A public entry point, which is the exception to "no barrels". What is not exported here is no promise to anyone.
 */
export { accessTokenKey, clientCertificateKey, connectInterceptor } from './connect-interceptor.ts'
export type { ClientCertificate, DpopOptions, ProvedRequest } from './dpop-proof.ts'
export {
  expressMiddleware,
  type FastifyReplyLike,
  type FastifyRequestLike,
  fastifyHook,
  type HonoContextLike,
  honoMiddleware,
  type NodeRequest,
  type NodeResponse,
} from './middleware.ts'
export { type RefusalCode, type RefusalResponse, TokenRefusal } from './token-refusal.ts'
export { type AccessToken, createVerifier, type Requirements, type Verifier, type VerifierOptions } from './verifier.ts'
