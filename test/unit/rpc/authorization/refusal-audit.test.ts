import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from '@jest/globals'
import { RemoveFederatedIdentityRequestSchema } from '../../../../gen/iam/federation/v2/federated_identity_service_pb.js'
import { DeleteTrustedIssuerRequestSchema } from '../../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import {
  CreateProjectRequestSchema,
  RemoveProjectRoleRequestSchema,
} from '../../../../gen/iam/project/v2/project_service_pb.js'
import { RemoveClientCertificateRequestSchema } from '../../../../gen/iam/user/v2/client_certificate_service_pb.js'
import {
  GrantProjectRoleRequestSchema,
  GrantScopeRequestSchema,
  ListServiceUsersRequestSchema,
  RemoveUserKeyRequestSchema,
} from '../../../../gen/iam/user/v2/service_user_service_pb.js'
import { ActivateWebKeyRequestSchema } from '../../../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { DomainError } from '../../../../src/domain/errors.ts'
import { auditRefusal, resourceOf } from '../../../../src/rpc/authorization/refusal-audit.ts'
import { anEntry } from '../../../support/audit-entry.ts'

const A = '00000000-0000-4000-8000-00000000000a'
const B = '00000000-0000-4000-8000-00000000000b'
const SECRET = `ktn_cs_${'s'.repeat(43)}`
const TOKEN = `ktn_pat_${'s'.repeat(43)}`

describe('writing refusals down', () => {
  const reasonsFor = (error: unknown) => {
    const reasons: string[] = []
    auditRefusal({ refuse: (_, reason) => reasons.push(reason) }, anEntry('x'), error)
    return reasons
  }

  it('names the reason', () => {
    expect(reasonsFor(new DomainError('last_owner', 'no'))).toEqual(['LAST_OWNER'])
  })

  it.each([
    new DomainError('storage_unavailable', 'nothing was decided'),
    new DomainError('change_not_in_force', 'it is an event already'),
    new DomainError('change_outcome_unknown', 'it may be an event already'),
    new Error('a defect'),
  ])('leaves out what is none: %s', (error) => {
    expect(reasonsFor(error)).toEqual([])
  })
})

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
    [
      create(RemoveFederatedIdentityRequestSchema, { userId: A, identityId: B }),
      `users/${A}/federated_identities/${B}`,
    ],
    [create(RemoveClientCertificateRequestSchema, { userId: A, certificateId: B }), `users/${A}/certificates/${B}`],
    [create(DeleteTrustedIssuerRequestSchema, { issuerId: A }), `trusted_issuers/${A}`],
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
