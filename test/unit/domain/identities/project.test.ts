import { describe, expect, it } from '@jest/globals'
import { DomainError } from '../../../../src/domain/errors.ts'
import {
  addRole,
  addScope,
  createProject,
  existingProject,
  removeRole,
  removeScope,
} from '../../../../src/domain/identities/project.ts'
import { STANDARD_SCOPES } from '../../../../src/domain/identities/token-grant.ts'

const project = createProject('project-1', 'billing', new Date(0))

function codeOf(act: () => unknown): string | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    return error instanceof DomainError ? error.code : String(error)
  }
}

describe('a project', () => {
  it('begins without roles and scopes', () => {
    expect(project).toEqual({ projectId: 'project-1', name: 'billing', createdAt: new Date(0), roles: [], scopes: [] })
  })

  it('keeps its roles in order and each one once', () => {
    const roles = addRole(addRole(addRole(project, 'writer'), 'reader'), 'writer').roles
    expect(roles).toEqual(['reader', 'writer'])
    expect(removeRole({ ...project, roles }, 'reader').roles).toEqual(['writer'])
    expect(codeOf(() => removeRole(project, 'reader'))).toBe('project_role_not_found')
  })

  it('keeps its custom scopes in order and each one once', () => {
    const scopes = addScope(addScope(addScope(project, 'b:write'), 'a:read'), 'b:write').scopes
    expect(scopes).toEqual(['a:read', 'b:write'])
    expect(removeScope({ ...project, scopes }, 'a:read').scopes).toEqual(['b:write'])
    expect(codeOf(() => removeScope(project, 'a:read'))).toBe('project_scope_not_found')
  })

  it.each([...STANDARD_SCOPES, 'urn:service:iam:anything', 'urn:zitadel:iam:org:projects:roles'])(
    'cannot give the scope %s another meaning',
    (scope) => {
      expect(codeOf(() => addScope(project, scope))).toBe('scope_reserved')
    },
  )

  it('has at most a thousand of each', () => {
    const names = Array.from({ length: 1000 }, (_, i) => `name-${i}`)
    expect(codeOf(() => addRole({ ...project, roles: names }, 'one more'))).toBe('project_limit_reached')
    expect(codeOf(() => addScope({ ...project, scopes: names }, 'one more'))).toBe('project_limit_reached')
    expect(addRole({ ...project, roles: names }, 'name-0').roles).toHaveLength(1000)
  })

  it('must exist', () => {
    expect(existingProject(project, 'project-1')).toBe(project)
    expect(codeOf(() => existingProject(undefined, 'project-1'))).toBe('project_not_found')
  })
})
