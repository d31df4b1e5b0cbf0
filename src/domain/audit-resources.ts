/** The resource names of the audit trail: paths of kinds and ids, so that a filter finds a resource with its parts. */

export const WEB_KEYS = 'web_keys'

export const ROTATION_POLICY = 'rotation_policy'

export const INTEGRITY_KEY = 'integrity_key'

export function webKeyResource(keyId: string): string {
  return `${WEB_KEYS}/${keyId}`
}

export function trustedIssuerResource(issuerId: string): string {
  return `trusted_issuers/${issuerId}`
}

export function webhookResource(webhookId: string): string {
  return `webhooks/${webhookId}`
}

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
