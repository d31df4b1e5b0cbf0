/**
 * The part of the contract about the constraints of the database.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { newKeyPair } from '../../support/keys.ts'
import { seedProject, seedSecret, seedUser } from '../../support/seed.ts'

const day = (number: number) => new Date(Date.UTC(2024, 0, number))

export function describeSchema(current: () => Database): void {
  const insertKey = async (columns: Readonly<Record<string, unknown>>) => {
    const { keyId, algorithm, publicJwk, sealedPrivateKey } = newKeyPair()
    const row = {
      key_id: keyId,
      algorithm,
      state: 'initial',
      public_jwk: JSON.stringify(publicJwk),
      sealed_private_key: sealedPrivateKey,
      creation_date: day(1),
      activation_date: null,
      deactivation_date: null,
      mac: new Uint8Array(32),
      ...columns,
    }
    const values = sql.join(Object.values(row))
    await sql`insert into web_keys (${sql.join(Object.keys(row).map((name) => sql.ref(name)))}) values (${values})`.execute(
      current().db,
    )
  }

  describe('the schema', () => {
    it('refuses a second active key [Spec §3]', async () => {
      await insertKey({ state: 'active', activation_date: day(2) })
      const second = insertKey({ state: 'active', activation_date: day(3) })
      await expect(second).rejects.toMatchObject({ code: '23505', constraint: 'web_keys_one_active' })
    })

    it.each([
      ['web_keys_known_state', { state: 'retired' }],
      ['web_keys_known_algorithm', { algorithm: 'HS256' }],
      ['web_keys_mac_is_sha256', { mac: new Uint8Array(31) }],
      ['web_keys_public_jwk_is_public', { public_jwk: '{"kty":"EC","d":"private"}' }],
      ['web_keys_dates_match_state', { state: 'initial', activation_date: day(2) }],
      ['web_keys_dates_match_state', { state: 'active' }],
      ['web_keys_dates_match_state', { state: 'active', activation_date: day(2), deactivation_date: day(3) }],
      ['web_keys_dates_match_state', { state: 'inactive', activation_date: day(2) }],
      ['web_keys_dates_in_order', { state: 'active', activation_date: day(0) }],
      ['web_keys_dates_in_order', { state: 'inactive', activation_date: day(3), deactivation_date: day(2) }],
    ])('refuses a web key that breaks %s: %j', async (constraint, columns) => {
      await expect(insertKey(columns)).rejects.toMatchObject({ code: '23514', constraint })
    })

    it('has one instance', async () => {
      const second = current().db.insertInto('instance').values({ id: 2, version: 0, initialised_at: null }).execute()
      await expect(second).rejects.toMatchObject({ constraint: 'instance_single_row' })
    })

    it.each(['', '-billing', 'Billing', 'bil ling', 'billing\n', 'a'.repeat(64)])(
      'refuses the project name %j',
      async (name) => {
        await expect(seedProject(current(), { name })).rejects.toMatchObject({ constraint: 'projects_name_form' })
      },
    )

    it('refuses a project name that is taken', async () => {
      await seedProject(current(), { name: 'billing' })
      const again = seedProject(current(), { name: 'billing' })
      await expect(again).rejects.toMatchObject({ constraint: 'projects_name_unique' })
    })

    it.each(['', 'two words', 'quo"te', 'back\\slash', 'ümlaut'])('refuses the custom scope %j', async (scope) => {
      const seeded = seedProject(current(), { scopes: [scope] })
      await expect(seeded).rejects.toMatchObject({ constraint: 'project_scopes_scope_is_a_scope_token' })
    })

    it.each(['', 'api', '/api', 'https:', 'https://api.example/#x', 'https://api example', 'https://ä.example', 'a:"'])(
      'refuses the audience %j',
      async (audience) => {
        const { projectId: project_id } = await seedProject(current())
        const inserted = current().db.insertInto('project_audiences').values({ project_id, audience }).execute()
        await expect(inserted).rejects.toMatchObject({ constraint: 'project_audiences_audience_is_a_uri' })
      },
    )

    it('refuses a secret hash that is not SHA-256', async () => {
      const { userId } = await seedUser(current(), { project: await seedProject(current()) })
      await seedSecret(current(), userId)
      const shorter = current()
        .db.updateTable('client_secrets')
        .set({ hash: new Uint8Array(31) })
        .execute()
      await expect(shorter).rejects.toMatchObject({ constraint: 'client_secrets_hash_is_sha256' })
    })

    it('refuses a secret that was deactivated before its creation, and accepts a credential that expires before', async () => {
      const { userId } = await seedUser(current(), { project: await seedProject(current()) })
      const { secretId } = await seedSecret(current(), userId)
      const change = (columns: object) =>
        current().db.updateTable('client_secrets').set(columns).where('secret_id', '=', secretId).execute()
      await change({ expiration_date: day(0) })
      const constraint = 'client_secrets_deactivated_after_creation'
      await expect(change({ deactivation_date: day(0) })).rejects.toMatchObject({ constraint })
    })

    it.each([
      ['personal_access_tokens_hash_is_sha256', { hash: new Uint8Array(31) }],
      ['personal_access_tokens_hash_unique', {}],
    ])('refuses a personal access token that breaks %s', async (constraint, columns) => {
      const { userId } = await seedUser(current(), { project: await seedProject(current()) })
      const insert = (more: object) => {
        const dates = { creation_date: day(1), expiration_date: day(2) }
        const row = { token_id: randomUUID(), user_id: userId, hash: new Uint8Array(32), ...dates, ...more }
        return current().db.insertInto('personal_access_tokens').values(row).execute()
      }
      await insert({})
      await expect(insert({ hash: new Uint8Array(32), ...columns })).rejects.toMatchObject({ constraint })
    })

    it('refuses to grant a role or a custom scope that the project does not have [Spec §7]', async () => {
      const project = await seedProject(current(), { roles: ['reader'], scopes: ['invoices:read'] })
      await expect(
        seedUser(current(), { project, projectRoles: { [project.projectId]: ['writer'] } }),
      ).rejects.toMatchObject({ constraint: 'user_project_roles_role_exists' })
      await expect(seedUser(current(), { project, customScopes: ['invoices:write'] })).rejects.toMatchObject({
        constraint: 'user_scopes_scope_exists',
      })
    })

    it('refuses to grant a custom scope of another project', async () => {
      const other = await seedProject(current(), { scopes: ['invoices:read'] })
      const { userId } = await seedUser(current(), { project: await seedProject(current()) })
      const foreign = current()
        .db.insertInto('user_scopes')
        .values({ user_id: userId, project_id: other.projectId, scope: 'invoices:read' })
        .execute()
      await expect(foreign).rejects.toMatchObject({ constraint: 'user_scopes_of_own_project' })
    })

    it('removes with a user everything that belongs to it', async () => {
      const project = await seedProject(current(), { roles: ['reader'], scopes: ['invoices:read'] })
      const { userId } = await seedUser(current(), {
        project,
        instanceRoles: ['IAM_OWNER'],
        projectRoles: { [project.projectId]: ['reader'] },
        customScopes: ['invoices:read'],
      })
      await seedSecret(current(), userId)
      await current().db.deleteFrom('service_users').execute()
      for (const table of ['client_secrets', 'instance_members', 'user_project_roles', 'user_scopes'] as const) {
        expect(await current().db.selectFrom(table).selectAll().execute()).toEqual([])
      }
    })
  })
}
