/**
 * The part of the contract about `IdentityStore`. Whole histories are in `identity-model-contract.ts`.
 */

import { describe, expect, it } from '@jest/globals'
import { createAuditLog } from '../../../src/storage/events/audit-log.ts'
import { createIdentityStore } from '../../../src/storage/identities/identity-store.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { type SeededProject, seedProject, seedUser } from '../../support/seed.ts'
import { identityOperations } from './identity-operations.ts'

const EVERYTHING = { from: null, to: null, actor: null, resource: null }

export function describeIdentityStore(current: () => Database): void {
  const store = () => createIdentityStore(current(), TEST_MACS)
  const operations = () => identityOperations(current())
  const version = async () => (await createInstanceReader(current(), TEST_MACS).status()).version
  const events = () => createAuditLog(current()).list(EVERYTHING, { after: null, limit: 100 })
  const newUser = async (project: SeededProject) => (await seedUser(current(), { project })).userId
  const newOwner = async (project: SeededProject) =>
    (await seedUser(current(), { project, instanceRoles: ['IAM_OWNER'] })).userId
  const codeOf = async (run: Promise<unknown>) => run.then(...outcomeCodes)

  describe('changing a service user', () => {
    it('undoes everything when a part fails: no version, no event', async () => {
      const project = await seedProject(current(), { roles: ['reader'] })
      const userId = await newUser(project)
      const before = [await version(), await store().findUser(userId)]
      const refused = operations().onUser(userId, 'grant', (user) => ({
        ...user,
        name: 'renamed',
        projectRoles: new Map([[project.projectId, ['reader', 'nobody']]]),
      }))
      expect(await codeOf(refused)).toBe('project_role_not_found')
      expect([await version(), await store().findUser(userId)]).toEqual(before)
      expect(await events()).toEqual([])
    })
  })

  describe('the last owner', () => {
    it('is left when two owners disable each other at once', async () => {
      const project = await seedProject(current())
      for (let round = 0; round < 10; round += 1) {
        await current().db.deleteFrom('service_users').execute()
        const owners = [await newOwner(project), await newOwner(project)]
        const codes = await Promise.all(owners.map((userId) => codeOf(operations().setEnabled(userId, false))))
        expect(codes.toSorted()).toEqual(['last_owner', 'ok'])
      }
    })
  })

  describe('a role that is granted while it is removed', () => {
    it('finds no user afterwards', async () => {
      const project = await seedProject(current())
      const userId = await newUser(project)
      for (let round = 0; round < 10; round += 1) {
        await operations().addRole(project.projectId, 'reader')
        const [granted, removed] = await Promise.all([
          codeOf(operations().grantRole(userId, project.projectId, 'reader')),
          codeOf(operations().removeRole(project.projectId, 'reader')),
        ])
        expect(removed).toBe('ok')
        expect(['ok', 'project_role_not_found']).toContain(granted)
        expect((await store().findUser(userId))?.projectRoles).toEqual(new Map())
      }
    })
  })
}

const outcomeCodes = [() => 'ok', (error: { code?: string }) => error.code ?? String(error)] as const
