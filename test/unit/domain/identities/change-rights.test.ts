import { describe, expect, it } from '@jest/globals'
import { assertMayChangeUser } from '../../../../src/domain/identities/change-rights.ts'
import type { ClientSecret } from '../../../../src/domain/identities/credential.ts'
import type { ProjectMemberRole } from '../../../../src/domain/identities/permission.ts'
import { createServiceUser, type ServiceUser } from '../../../../src/domain/identities/service-user.ts'

const NOW = new Date('2026-11-24T12:00:00Z')
const HOUR = 3_600_000
const facts = { userId: 'u', name: 'robot', projectId: 'own', projectName: 'shop', clientCredentialsEnabled: true }
const user = createServiceUser(facts, NOW)
const managing = (roles: Record<string, ProjectMemberRole>): ServiceUser['managedProjects'] =>
  new Map(Object.entries(roles))

describe('a project owner', () => {
  const managedProjects = managing({ own: 'PROJECT_OWNER', other: 'PROJECT_OWNER_VIEWER' })
  const holder = { userId: 'owner', instanceRoles: [], managedProjects }
  const before = { ...user, managedProjects: managing({ other: 'PROJECT_OWNER_VIEWER' }) }

  it('takes away no role over a project that it only sees', () => {
    const next = { ...before, managedProjects: managing({}) }
    const change = () => assertMayChangeUser({ holder, permission: 'iam.project.member.write' }, { before, next }, NOW)
    expect(change).toThrow(expect.objectContaining({ code: 'permission_missing' }))
  })
})

describe('a user that generates a secret for itself', () => {
  const secret = (credentialId: string, hours: number | null, deactivatedAt: Date | null = null): ClientSecret => {
    const expiresAt = hours === null ? null : new Date(NOW.getTime() + hours * HOUR)
    const dates = { createdAt: NOW, expiresAt, deactivatedAt, lastUsedAt: null }
    return { kind: 'client_secret', credentialId, hash: new Uint8Array(32), ...dates }
  }

  it('gets none that works longer than those that work, whatever the end of one that was deactivated', () => {
    const before = { ...user, credentials: [secret('live', 1), secret('dead', null, NOW)] }
    const generating = (hours: number) => () =>
      assertMayChangeUser(
        { holder: user, permission: 'iam.user.secret.write' },
        { before, next: { ...before, credentials: [...before.credentials, secret('new', hours)] } },
        NOW,
      )
    expect(generating(1)).not.toThrow()
    expect(generating(2)).toThrow(expect.objectContaining({ code: 'expiration_too_late' }))
  })
})
