/**
 * Several administrators who change things at the same time, and what was acknowledged to them.
 *
 * An acknowledged change is noted as the line that it has in the audit trail: `METHOD RESOURCE`.
 */
import type { Administration } from '../support/administration.ts'

const ADMINISTRATORS = 4

export class ChangeLoad {
  /** In the order of the answers. */
  readonly acknowledged: string[] = []
  readonly #admin: Administration
  #names = 0
  #activeKeyId: string | undefined
  #wanted: { readonly count: number; readonly reached: () => void } | undefined

  constructor(admin: Administration) {
    this.#admin = admin
  }

  /**
   * Makes changes, and runs `atCount` at once when so many more are acknowledged, with others under way. Returns what
   * `atCount` returns when all calls are answered.
   */
  async during<T>(count: number, atCount: () => Promise<T>): Promise<T> {
    const { promise: counted, resolve: reached } = Promise.withResolvers<void>()
    this.#wanted = { count: this.acknowledged.length + count, reached }
    const stopping = new AbortController()
    const administrators = Promise.all(
      Array.from({ length: ADMINISTRATORS }, (_, index) => this.#change(index === 0, stopping.signal)),
    )
    try {
      // The administrators are done first only if one fails.
      await Promise.race([counted, administrators])
      return await atCount()
    } finally {
      stopping.abort()
      await administrators
    }
  }

  async #change(rotates: boolean, stopping: AbortSignal): Promise<void> {
    for (;;) {
      for await (const [method, resource] of rotates ? this.#rotation() : this.#identities()) {
        this.#acknowledge(method, resource)
        if (stopping.aborted) return
      }
    }
  }

  /** A new project with a role and a user who has it and a secret. */
  async *#identities(): AsyncGenerator<[method: string, resource: string]> {
    const { projects, users } = this.#admin
    const { project } = await projects.createProject({ name: `project-${++this.#names}` })
    const projectId = project!.projectId
    yield ['CreateProject', `projects/${projectId}`]
    await projects.addProjectRole({ projectId, role: 'reader' })
    yield ['AddProjectRole', `projects/${projectId}/roles/reader`]
    const { serviceUser } = await users.createServiceUser({ projectId, name: 'robot' })
    const userId = serviceUser!.userId
    yield ['CreateServiceUser', `users/${userId}`]
    await users.grantProjectRole({ userId, projectId, role: 'reader' })
    yield ['GrantProjectRole', `users/${userId}/projects/${projectId}/roles/reader`]
    const { secret } = await users.generateClientSecret({ userId })
    yield ['GenerateClientSecret', `users/${userId}/secrets/${secret!.secretId}`]
  }

  /**
   * A new web key in the place of the active one, which is deleted. The one that was active at the beginning is not: it
   * has signed the access token of the administrators.
   */
  async *#rotation(): AsyncGenerator<[method: string, resource: string]> {
    const { keys } = this.#admin
    const { webKey } = await keys.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
    const keyId = webKey!.keyId
    yield ['CreateWebKey', `web_keys/${keyId}`]
    await keys.activateWebKey({ keyId })
    const previous = this.#activeKeyId
    this.#activeKeyId = keyId
    yield ['ActivateWebKey', `web_keys/${keyId}`]
    if (previous === undefined) return
    await keys.deleteWebKey({ keyId: previous })
    yield ['DeleteWebKey', `web_keys/${previous}`]
  }

  #acknowledge(method: string, resource: string): void {
    this.acknowledged.push(`${method} ${resource}`)
    if (this.acknowledged.length === this.#wanted?.count) this.#wanted.reached()
  }
}
