/**
 * How the audit trail names what was done to: a path of kinds and ids, so that a filter finds a thing with its parts.
 */

/** For example `web_keys/<key_id>`. */
export function webKeyResource(keyId: string): string {
  return `web_keys/${keyId}`
}

/** A project, or a part of it, for example `projects/<project_id>/roles/<role>`. */
export function projectResource(projectId: string, ...part: readonly string[]): string {
  return ['projects', projectId, ...part].join('/')
}

/** A service user, or a part of it, for example `users/<user_id>/secrets/<secret_id>`. */
export function userResource(userId: string, ...part: readonly string[]): string {
  return ['users', userId, ...part].join('/')
}
