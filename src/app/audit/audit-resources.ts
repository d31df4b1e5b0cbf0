/**
 * The resource names of the audit trail: paths of kinds and ids, so that a filter finds a resource with its parts.
 */

/** All web keys. */
export const WEB_KEYS = 'web_keys'

/** How they rotate. */
export const ROTATION_POLICY = 'rotation_policy'

/** The integrity key of the instance. */
export const INTEGRITY_KEY = 'integrity_key'

/** For example `web_keys/<key_id>`. */
export function webKeyResource(keyId: string): string {
  return `${WEB_KEYS}/${keyId}`
}

/** For example `trusted_issuers/<issuer_id>`. */
export function trustedIssuerResource(issuerId: string): string {
  return `trusted_issuers/${issuerId}`
}

/** For example `webhooks/<webhook_id>`. */
export function webhookResource(webhookId: string): string {
  return `webhooks/${webhookId}`
}

/** For example `issuers/https://id.example.com`. */
export function issuerResource(issuer: string): string {
  return `issuers/${issuer}`
}

/** A project, or a part of it, for example `projects/<project_id>/roles/<role>`. */
export function projectResource(projectId: string, ...part: readonly string[]): string {
  return ['projects', projectId, ...part].join('/')
}

/** A session of the console of which nothing but its id is believed: `console_sessions/<session_id>`. */
export function sessionResource(sessionId: string): string {
  return `console_sessions/${sessionId}`
}

/** A service user, or a part of it, for example `users/<user_id>/secrets/<secret_id>`. */
export function userResource(userId: string, ...part: readonly string[]): string {
  return ['users', userId, ...part].join('/')
}
