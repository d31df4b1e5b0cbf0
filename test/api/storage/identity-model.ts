/**
 * Who has which access, as a few maps: what the real store is compared with after any sequence of operations.
 */

/** How an operation ended: with the code of its refusal, or whether it changed anything. */
export type Outcome = 'changed' | 'unchanged' | (string & {})

/** What a user can do with what. */
export interface ModelAccess {
  readonly enabled: boolean
  readonly owner: boolean
  /** `<project>/<role>`. */
  readonly roles: readonly string[]
  readonly scopes: readonly string[]
  readonly secrets: readonly string[]
  readonly liveSecrets: readonly string[]
  readonly tokens: readonly string[]
}

interface ModelProject {
  name: string
  readonly roles: Set<string>
  readonly scopes: Set<string>
}

interface ModelUser {
  readonly project: string
  enabled: boolean
  owner: boolean
  readonly roles: Set<string>
  readonly scopes: Set<string>
  /** Whether they are live. */
  readonly secrets: Map<string, boolean>
  readonly tokens: Set<string>
}

/** An empty instance and the operations on it. */
export function createIdentityModel() {
  const projects = new Map<string, ModelProject>()
  const users = new Map<string, ModelUser>()

  const onProject = (id: string, run: (project: ModelProject) => Outcome): Outcome => {
    const project = projects.get(id)
    return project === undefined ? 'project_not_found' : run(project)
  }
  const onUser = (id: string, run: (user: ModelUser) => Outcome): Outcome => {
    const user = users.get(id)
    return user === undefined ? 'user_not_found' : run(user)
  }
  const isTaken = (name: string, by: string) =>
    [...projects].some(([id, project]) => id !== by && project.name === name)
  /** Whether this user, and nobody else, is an enabled owner. */
  const isLastOwner = (id: string) =>
    [...users].every(([other, user]) => (user.owner && user.enabled) === (other === id))
  const changedIf = (changed: boolean): Outcome => (changed ? 'changed' : 'unchanged')
  const add = (set: Set<string>, item: string): Outcome => {
    const changed = !set.has(item)
    set.add(item)
    return changedIf(changed)
  }

  return {
    access: (): ReadonlyMap<string, ModelAccess> => new Map([...users].map(([id, user]) => [id, accessOf(user)])),

    createProject: (id: string, name: string): Outcome => {
      if (projects.has(id)) return 'unchanged'
      if (isTaken(name, id)) return 'project_name_taken'
      projects.set(id, { name, roles: new Set(), scopes: new Set() })
      return 'changed'
    },
    renameProject: (id: string, name: string) =>
      onProject(id, (project) => {
        if (isTaken(name, id)) return 'project_name_taken'
        const changed = project.name !== name
        project.name = name
        return changedIf(changed)
      }),
    deleteProject: (id: string) =>
      onProject(id, () => {
        if ([...users.values()].some((user) => user.project === id)) return 'project_has_users'
        projects.delete(id)
        for (const user of users.values()) {
          for (const role of user.roles) if (role.startsWith(`${id}/`)) user.roles.delete(role)
        }
        return 'changed'
      }),
    addRole: (id: string, role: string) => onProject(id, (project) => add(project.roles, role)),
    removeRole: (id: string, role: string) =>
      onProject(id, (project) => {
        if (!project.roles.delete(role)) return 'project_role_not_found'
        for (const user of users.values()) user.roles.delete(`${id}/${role}`)
        return 'changed'
      }),
    addScope: (id: string, scope: string) => onProject(id, (project) => add(project.scopes, scope)),
    removeScope: (id: string, scope: string) =>
      onProject(id, (project) => {
        if (!project.scopes.delete(scope)) return 'project_scope_not_found'
        for (const user of users.values()) if (user.project === id) user.scopes.delete(scope)
        return 'changed'
      }),

    createUser: (id: string, project: string): Outcome => {
      if (users.has(id)) return 'unchanged'
      if (!projects.has(project)) return 'project_not_found'
      const grants = { roles: new Set<string>(), scopes: new Set<string>() }
      const credentials = { secrets: new Map<string, boolean>(), tokens: new Set<string>() }
      users.set(id, { project, enabled: true, owner: false, ...grants, ...credentials })
      return 'changed'
    },
    deleteUser: (id: string) =>
      onUser(id, () => {
        if (isLastOwner(id)) return 'last_owner'
        users.delete(id)
        return 'changed'
      }),
    setEnabled: (id: string, enabled: boolean) =>
      onUser(id, (user) => {
        if (!enabled && isLastOwner(id)) return 'last_owner'
        const changed = user.enabled !== enabled
        user.enabled = enabled
        return changedIf(changed)
      }),
    setOwner: (id: string, owner: boolean) =>
      onUser(id, (user) => {
        if (!owner && isLastOwner(id)) return 'last_owner'
        const changed = user.owner !== owner
        user.owner = owner
        return changedIf(changed)
      }),
    grantRole: (id: string, project: string, role: string) =>
      onUser(id, (user) => {
        if (projects.get(project)?.roles.has(role) !== true) return 'project_role_not_found'
        return add(user.roles, `${project}/${role}`)
      }),
    revokeRole: (id: string, project: string, role: string) =>
      onUser(id, (user) => changedIf(user.roles.delete(`${project}/${role}`))),
    grantScope: (id: string, scope: string) =>
      onUser(id, (user) => {
        if (projects.get(user.project)?.scopes.has(scope) !== true) return 'project_scope_not_found'
        return add(user.scopes, scope)
      }),
    revokeScope: (id: string, scope: string) => onUser(id, (user) => changedIf(user.scopes.delete(scope))),
    addSecret: (id: string, secret: string) =>
      onUser(id, (user) => {
        user.secrets.set(secret, true)
        return 'changed'
      }),
    deactivateSecret: (id: string, secret: string) =>
      onUser(id, (user) => {
        const live = user.secrets.get(secret)
        if (live === undefined) return 'client_secret_not_found'
        user.secrets.set(secret, false)
        return changedIf(live)
      }),
    deleteSecret: (id: string, secret: string) =>
      onUser(id, (user) => (user.secrets.delete(secret) ? 'changed' : 'client_secret_not_found')),
    addToken: (id: string, token: string) =>
      onUser(id, (user) => {
        user.tokens.add(token)
        return 'changed'
      }),
    revokeToken: (id: string, token: string) =>
      onUser(id, (user) => (user.tokens.delete(token) ? 'changed' : 'personal_access_token_not_found')),
  }
}

function accessOf(user: ModelUser): ModelAccess {
  const { enabled, owner } = user
  const liveSecrets = [...user.secrets].filter(([, live]) => live).map(([secret]) => secret)
  return {
    enabled,
    owner,
    roles: [...user.roles].sort(),
    scopes: [...user.scopes].sort(),
    secrets: [...user.secrets.keys()].sort(),
    liveSecrets: liveSecrets.sort(),
    tokens: [...user.tokens].sort(),
  }
}
