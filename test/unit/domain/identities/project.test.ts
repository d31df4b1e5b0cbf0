import { describe, expect, it } from '@jest/globals'
import { DomainError } from '../../../../src/domain/errors.ts'
import { addPart, createProject, type Project } from '../../../../src/domain/identities/project.ts'
import { STANDARD_SCOPES } from '../../../../src/domain/identities/token-grant.ts'

const addRole = (to: Project, name: string) => addPart(to, { list: 'roles', name }, '')
const addScope = (to: Project, name: string) => addPart(to, { list: 'scopes', name }, '')
const addAudience = (to: Project, name: string, issuer: string) => addPart(to, { list: 'audiences', name }, issuer)

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
  it.each([...STANDARD_SCOPES, 'urn:service:iam:anything', 'urn:zitadel:iam:org:projects:roles'])(
    'cannot give the scope %s another meaning',
    (scope) => {
      expect(codeOf(() => addScope(project, scope))).toBe('scope_reserved')
    },
  )

  it.each(['https://id.example', 'https://id.example/', 'https://ID.example//'])(
    'cannot have the issuer as an audience, also not as %s',
    (audience) => {
      expect(codeOf(() => addAudience(project, audience, 'https://id.example'))).toBe('audience_reserved')
    },
  )

  it('has at most twenty audiences', () => {
    const audiences = Array.from({ length: 20 }, (_, i) => `urn:${i}`)
    const full = { ...project, audiences }
    expect(codeOf(() => addAudience(full, 'urn:20', 'https://id.example'))).toBe('project_limit_reached')
    expect(addAudience(full, 'urn:7', 'https://id.example')).toBe(full)
  })

  it('has at most a thousand roles and scopes', () => {
    const names = Array.from({ length: 1000 }, (_, i) => `name-${i}`)
    expect(codeOf(() => addRole({ ...project, roles: names }, 'one more'))).toBe('project_limit_reached')
    expect(codeOf(() => addScope({ ...project, scopes: names }, 'one more'))).toBe('project_limit_reached')
    expect(addRole({ ...project, roles: names }, 'name-0').roles).toHaveLength(1000)
  })
})
