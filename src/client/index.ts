/**
 * `keyturn/client`: tokens for machines, and the API. It runs in Node.js, Deno, Bun and browsers.
 *
 * A public entry point, which is the exception to "no barrels". What is not exported here is no promise to anyone.
 */
export {
  API_SCOPE,
  type Api,
  type ApiOptions,
  AuditServiceApi,
  BetaWebKeyServiceApi,
  ClientCertificateServiceApi,
  ConfigServiceApi,
  ConsoleServiceApi,
  createApi,
  FederatedIdentityServiceApi,
  InstanceServiceApi,
  ProjectServiceApi,
  reasonOf,
  ServiceUserServiceApi,
  TrustedIssuerServiceApi,
  WebhookServiceApi,
  WebKeyServiceApi,
} from './api.ts'
export { type AuthorizedFetchOptions, createAuthorizedFetch } from './authorized-fetch.ts'
export type { ClientAuthentication, Credential } from './client-authentication.ts'
export type { DpopKeyPair, DpopProver } from './dpop.ts'
export * as audit from './messages/audit.ts'
export * as betaWebKey from './messages/beta-web-key.ts'
export * as configuration from './messages/configuration.ts'
export * as console from './messages/console.ts'
export * as event from './messages/event.ts'
export * as federation from './messages/federation.ts'
export * as instance from './messages/instance.ts'
export * as project from './messages/project.ts'
export * as serviceUser from './messages/service-user.ts'
export * as webKey from './messages/web-key.ts'
export { TokenError, type TokenErrorCode } from './token-error.ts'
export { createTokenInterceptor } from './token-interceptor.ts'
export type { TokenRequestOptions as TokenSourceOptions } from './token-request.ts'
export { createTokenSource, type TokenSource } from './token-source.ts'
