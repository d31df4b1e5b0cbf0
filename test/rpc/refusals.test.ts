import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from '@jest/globals'
import {
  CreateProjectRequestSchema,
  RemoveProjectRoleRequestSchema,
} from '../../gen/iam/project/v2/project_service_pb.js'
import {
  GrantProjectRoleRequestSchema,
  GrantScopeRequestSchema,
  ListServiceUsersRequestSchema,
  RemoveUserKeyRequestSchema,
} from '../../gen/iam/user/v2/service_user_service_pb.js'
import { ActivateWebKeyRequestSchema } from '../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { resourceOf } from '../../src/rpc/refusals.ts'

const A = '00000000-0000-4000-8000-00000000000a'
const B = '00000000-0000-4000-8000-00000000000b'
const SECRET = `ktn_cs_${'s'.repeat(43)}`
const TOKEN = `ktn_pat_${'s'.repeat(43)}`

describe('the resource of a refused request', () => {
  it.each([
    [create(RemoveUserKeyRequestSchema, { userId: A, keyId: B }), `users/${A}/keys/${B}`],
    [create(GrantScopeRequestSchema, { userId: A, scope: 'a/b' }), `users/${A}/scopes/a/b`],
    [
      create(GrantProjectRoleRequestSchema, { userId: A, projectId: B, role: 'reader' }),
      `users/${A}/projects/${B}/roles/reader`,
    ],
    [create(RemoveProjectRoleRequestSchema, { projectId: A, role: 'reader' }), `projects/${A}/roles/reader`],
    [create(ListServiceUsersRequestSchema, { projectId: A }), `projects/${A}`],
    [create(ActivateWebKeyRequestSchema, { keyId: 'k'.repeat(43) }), `web_keys/${'k'.repeat(43)}`],
    [create(CreateProjectRequestSchema, { name: 'x' }), ''],
    [create(ListServiceUsersRequestSchema, {}), ''],
  ])('is found in %j', (request, resource) => {
    expect(resourceOf(request)).toBe(resource)
  })

  it.each([SECRET, TOKEN, 'k\0', `${'k'.repeat(43)} `, ''])('is not %j, which is no id', (text) => {
    expect(resourceOf(create(ActivateWebKeyRequestSchema, { keyId: text }))).toBe('')
    expect(resourceOf(create(RemoveUserKeyRequestSchema, { userId: A, keyId: text }))).toBe(`users/${A}`)
    expect(resourceOf(create(RemoveUserKeyRequestSchema, { userId: text, keyId: text }))).toBe('')
  })
})
