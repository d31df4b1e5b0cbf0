/**
 * The part of the contract about `IdentityStore`. Random changes are in `identity-properties-contract.ts`.
 */

import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { createProject } from '../../../src/domain/identities/project.ts'
import { WHOLE_INSTANCE } from '../../../src/domain/identities/reach.ts'
import { createServiceUser } from '../../../src/domain/identities/service-user.ts'
import { createAuditLog } from '../../../src/storage/events/audit-log.ts'
import { createIdentityStore } from '../../../src/storage/identities/identity-store.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { anAuditEntry, anEntry } from '../../support/audit-entry.ts'
import { identityOperations } from '../../support/identity-operations.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { type SeededProject, seedProject, seedUser } from '../../support/seed.ts'

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

  describe('changing a project', () => {
    it('creates, renames and deletes it, each with one version and one audit event at the time of the change', async () => {
      const projectId = randomUUID()
      const created = await operations().createProject(projectId, 'billing')
      expect(created).toEqual({
        projectId,
        name: 'billing',
        createdAt: expect.any(Date),
        roles: [],
        scopes: [],
        audiences: [],
        rolesClaim: false,
      })
      expect(await store().findProject(projectId)).toEqual(created)
      await operations().renameProject(projectId, 'invoicing')
      expect(await store().findProject(projectId)).toEqual({ ...created, name: 'invoicing' })
      await operations().deleteProject(projectId)
      expect(await store().findProject(projectId)).toBeUndefined()

      expect(await version()).toBe(3)
      const written = (await events()).toSorted((a, b) => a.at.getTime() - b.at.getTime())
      expect(written.map(({ action }) => action).toSorted()).toEqual(['create', 'delete', 'rename'])
      expect(written[0]).toEqual({
        ...anAuditEntry('create', `projects/${projectId}`),
        eventId: expect.any(String),
        at: created?.createdAt,
        outcome: 'ok',
        clientAddress: '',
        omission: null,
        reason: '',
      })
    })

    it('writes nothing when nothing changes: no version, no event', async () => {
      const { projectId } = await seedProject(current(), { roles: ['reader'], scopes: ['x'] })
      const before = await version()
      await operations().onProject(projectId, 'nothing', (project) => project)
      await operations().onProject(projectId, 'nothing', (project) => ({ ...project, roles: ['reader'] }))
      await operations().addRole(projectId, 'reader')
      await operations().addScope(projectId, 'x')
      await store().changeProject(randomUUID(), anEntry('nothing'), () => ({ next: null, result: 0 }))
      expect([await version(), await events()]).toEqual([before, []])
    })

    it('shows the new name in its users', async () => {
      const project = await seedProject(current(), { name: 'old-name' })
      const userId = await newUser(project)
      await operations().renameProject(project.projectId, 'new-name')
      expect(await store().findUser(userId)).toMatchObject({ projectName: 'new-name' })
    })

    it('refuses an audience that another project has', async () => {
      const audience = 'https://api.example'
      const first = await seedProject(current())
      await operations().onProject(first.projectId, 'add', (project) => ({ ...project, audiences: [audience] }))
      const second = await seedProject(current())
      const before = [await version(), await events()]
      const adding = operations().onProject(second.projectId, 'add', (project) => ({
        ...project,
        audiences: ['urn:other', audience],
      }))
      expect(await codeOf(adding)).toBe('project_audience_taken')
      expect([await version(), await events()]).toEqual(before)
      expect(await store().findProject(second.projectId)).toMatchObject({ audiences: [] })
    })

    it('shows its audiences in its users, and in those that have a role in it', async () => {
      const project = await seedProject(current(), { roles: ['reader', 'writer'] })
      const { projectId } = project
      const own = await newUser(project)
      const other = await seedProject(current())
      const { userId: guest } = await seedUser(current(), {
        project: other,
        projectRoles: { [projectId]: ['reader', 'writer'] },
      })
      const stranger = await newUser(other)
      const audiencesOf = async (userId: string) => (await store().findUser(userId))?.projectsByAudience
      await operations().onProject(projectId, 'add', (found) => ({ ...found, audiences: ['urn:a', 'urn:b'] }))
      const both = new Map([
        ['urn:a', projectId],
        ['urn:b', projectId],
      ])
      expect(await audiencesOf(own)).toEqual(both)
      expect(await audiencesOf(guest)).toEqual(both)
      expect(await audiencesOf(stranger)).toEqual(new Map())

      await operations().removeRole(projectId, 'reader')
      expect(await audiencesOf(guest)).toEqual(both)
      await operations().removeRole(projectId, 'writer')
      expect(await audiencesOf(guest)).toEqual(new Map())
      await operations().onProject(projectId, 'remove', (found) => ({ ...found, audiences: ['urn:b'] }))
      expect(await audiencesOf(own)).toEqual(new Map([['urn:b', projectId]]))
    })

    it('refuses to delete a project that has users', async () => {
      const project = await seedProject(current(), { roles: ['reader'] })
      await newUser(project)
      expect(await codeOf(operations().deleteProject(project.projectId))).toBe('project_has_users')
      expect(await store().findProject(project.projectId)).toMatchObject({ roles: ['reader'] })
    })

    it('takes removed roles and scopes away from all users', async () => {
      const project = await seedProject(current(), { roles: ['reader', 'writer'], scopes: ['x', 'y'] })
      const other = await seedProject(current())
      const { userId } = await seedUser(current(), {
        project,
        projectRoles: { [project.projectId]: ['reader', 'writer'] },
        customScopes: ['x', 'y'],
      })
      const { userId: stranger } = await seedUser(current(), {
        project: other,
        projectRoles: { [project.projectId]: ['reader'] },
      })
      await operations().removeRole(project.projectId, 'reader')
      await operations().removeScope(project.projectId, 'x')
      expect(await store().findUser(userId)).toMatchObject({
        projectRoles: new Map([[project.projectId, ['writer']]]),
        customScopes: ['y'],
      })
      expect(await store().findUser(stranger)).toMatchObject({ projectRoles: new Map() })

      await operations().addRole(project.projectId, 'reader')
      expect(await store().findUser(stranger)).toMatchObject({ projectRoles: new Map() })
    })

    it('does not let the decision change another project', async () => {
      const wrong = store().changeProject(randomUUID(), anEntry('create'), (_, now) => {
        return { next: createProject(randomUUID(), 'other', now), result: 0 }
      })
      await expect(wrong).rejects.toThrow('the decision is about another project')
    })
  })

  describe('changing a service user', () => {
    it('creates, changes and deletes it, each with one version and one audit event', async () => {
      const { projectId, name: projectName } = await seedProject(current())
      const before = await version()
      const userId = randomUUID()
      const created = await operations().createUser(userId, projectId)
      expect(await store().findUser(userId)).toEqual({ ...created, projectName })
      const change = {
        name: 'other',
        enabled: false,
        clientCredentialsEnabled: false,
        boundTokensRequired: true,
        certificateBoundTokens: true,
      }
      await operations().onUser(userId, 'change', (user) => ({ ...user, ...change }))
      const tokensRevokedAt = expect.any(Date)
      expect(await store().findUser(userId)).toEqual({ ...created, projectName, ...change, tokensRevokedAt })
      await operations().deleteUser(userId)
      expect(await store().findUser(userId)).toBeUndefined()

      expect(await version()).toBe(before + 3)
      expect((await events()).map(({ action }) => action).toSorted()).toEqual(['change', 'create', 'delete'])
    })

    it('takes roles and scopes from this user only', async () => {
      const project = await seedProject(current(), { roles: ['reader'], scopes: ['x'] })
      const grants = {
        project,
        instanceRoles: ['IAM_OWNER_VIEWER' as const],
        projectRoles: { [project.projectId]: ['reader'] },
        customScopes: ['x'],
      }
      const { userId } = await seedUser(current(), grants)
      const other = await store().findUser((await seedUser(current(), grants)).userId)
      await operations().revokeRole(userId, project.projectId, 'reader')
      await operations().revokeScope(userId, 'x')
      await operations().setInstanceRoles(userId, [])
      expect(await store().findUser(userId)).toMatchObject({
        instanceRoles: [],
        projectRoles: new Map(),
        customScopes: [],
      })
      expect(other).toMatchObject({ projectRoles: new Map([[project.projectId, ['reader']]]), customScopes: ['x'] })
      expect(await store().findUser(other!.userId)).toEqual(other)
    })

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

    it('stores no change without its event', async () => {
      const { projectId } = await seedProject(current())
      const before = await version()
      const userId = randomUUID()
      const nameless = store().changeUser(userId, { ...anEntry('create'), actor: '' }, (_, { date }) => {
        const facts = { userId, name: 'robot', projectId, projectName: '', clientCredentialsEnabled: true }
        return { next: createServiceUser(facts, date), result: 0 }
      })
      await expect(nameless).rejects.toMatchObject({ constraint: 'audit_events_actor_length' })
      expect([await version(), await store().findUser(userId)]).toEqual([before, undefined])
    })

    it.each([
      ['project_not_found', (o: Operations) => o.createUser(randomUUID(), randomUUID())],
      ['project_not_found', (o: Operations) => o.createUser(randomUUID(), 'no id')],
      ['project_role_not_found', (o: Operations, u: string, p: string) => o.grantRole(u, p, 'writer')],
      ['project_role_not_found', (o: Operations, u: string) => o.grantRole(u, randomUUID(), 'reader')],
      ['project_role_not_found', (o: Operations, u: string) => o.grantRole(u, 'no id', 'reader')],
      ['project_role_not_found', (o: Operations, u: string, p: string) => o.grantRole(u, p.toUpperCase(), 'reader')],
      ['project_scope_not_found', (o: Operations, u: string) => o.grantScope(u, 'of-other')],
      ['project_scope_not_found', (o: Operations, u: string) => o.grantScope(u, 'nowhere')],
    ])('refuses with %s what does not exist: %s', async (code, run) => {
      const project = await seedProject(current(), { roles: ['reader'] })
      await seedProject(current(), { scopes: ['of-other'] })
      const userId = await newUser(project)
      expect(await codeOf(run(operations(), userId, project.projectId))).toBe(code)
    })
  })

  describe('the last owner', () => {
    it.each([
      ['deleted', (o: Operations, userId: string) => o.deleteUser(userId)],
      ['disabled', (o: Operations, userId: string) => o.setEnabled(userId, false)],
      ['made a viewer', (o: Operations, userId: string) => o.setInstanceRoles(userId, ['IAM_OWNER_VIEWER'])],
    ])('cannot be %s', async (_, run) => {
      const project = await seedProject(current())
      const owner = await newOwner(project)
      await seedUser(current(), { project, instanceRoles: ['IAM_OWNER'], enabled: false })
      await seedUser(current(), { project, instanceRoles: ['IAM_OWNER_VIEWER'] })
      const before = await version()
      expect(await codeOf(run(operations(), owner))).toBe('last_owner')
      expect([await version(), await events()]).toEqual([before, []])
      await newOwner(project)
      expect(await codeOf(run(operations(), owner))).toBe('ok')
    })

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

  describe('finding identities', () => {
    it.each(['', 'x', "'", '{}', randomUUID()])('finds nothing by the id %j', async (id) => {
      expect(await store().findProject(id)).toBeUndefined()
      expect(await store().findUser(id)).toBeUndefined()
      const filter = { projectId: id, search: '', reach: WHOLE_INSTANCE }
      expect(await store().listUsers(filter, { after: null, limit: 10 })).toEqual([])
    })

    it('lists all projects in pages that neither overlap nor skip, though others come and go', async () => {
      const names = ['b-', 'b', 'a0', 'a-z', 'az', '0', 'b--1', 'zz']
      for (const name of names) await seedProject(current(), { name, roles: ['r'] })
      const listed: string[] = []
      for (;;) {
        const page = await store().listProjects({ after: listed.at(-1) ?? null, limit: 3 }, WHOLE_INSTANCE)
        listed.push(...page.map(({ name }) => name))
        for (const { roles } of page) expect(roles).toEqual(['r'])
        if (page.length < 3) break
        if (listed.length === 3) {
          await seedProject(current(), { name: '00' })
          await current().db.deleteFrom('projects').where('name', '=', listed[2]!).execute()
        }
      }
      expect(listed).toEqual(names.toSorted())
    })

    it('finds a user by the hash of a personal access token, until it is revoked', async () => {
      const project = await seedProject(current())
      const [userId, other] = [await newUser(project), await newUser(project)]
      const [hash, tokenId] = [new Uint8Array(randomBytes(32)), randomUUID()]
      await operations().addToken(userId, tokenId, hash)
      await operations().addToken(other, randomUUID(), randomBytes(32))
      expect(await store().findUserByPersonalAccessToken(hash)).toEqual(await store().findUser(userId))
      expect((await store().findUser(userId))?.personalAccessTokens).toMatchObject([{ tokenId, hash }])
      expect(await store().findUserByPersonalAccessToken(randomBytes(32))).toBeUndefined()
      await operations().revokeToken(userId, tokenId)
      expect(await store().findUserByPersonalAccessToken(hash)).toBeUndefined()
    })
  })
}

type Operations = ReturnType<typeof identityOperations>

const outcomeCodes = [() => 'ok', (error: { code?: string }) => error.code ?? String(error)] as const
