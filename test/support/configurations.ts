/**
 * Configurations for tests.
 */
import { generateKeyPairSync } from 'node:crypto'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ConfigurationSchema } from '../../gen/iam/config/v2/configuration_pb.js'
import type { PlannedChange, ResourceName } from '../../gen/iam/config/v2/plan_pb.js'
import { ChangeAction, ResourceKind } from '../../gen/iam/config/v2/plan_pb.js'

/** A configuration as clients send it. */
export type SentConfiguration = MessageInitShape<typeof ConfigurationSchema>

/** The issuer of `manyUsers`. */
const CI_ISSUER = 'https://ci.example.com'

/** A new public key (P-256), JSON. */
export function newPublicJwk(): string {
  return JSON.stringify(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }))
}

/** One project with so many users, each with a public key, a role and a federated identity. */
export function manyUsers(count: number) {
  return {
    projects: [{ name: 'shop', roles: ['reader', 'writer'], scopes: ['orders.write'] }],
    trustedIssuers: [{ issuer: CI_ISSUER, keys: { source: { case: 'discovery', value: {} } } }],
    serviceUsers: Array.from({ length: count }, (_, index) => ({
      project: 'shop',
      name: `robot-${index}`,
      projectRoles: [{ project: 'shop', roles: ['reader'] }],
      publicKeys: [{ publicJwk: newPublicJwk() }],
      federatedIdentities: [{ issuer: CI_ISSUER, subject: `repo:shop/${index}` }],
    })),
  } satisfies SentConfiguration
}

/** What a change is, in a line, for example `CREATE PROJECT shop`. */
export function lineOf({ action, resource }: PlannedChange): string {
  return `${ChangeAction[action]} ${nameOf(resource!)}`
}

/** A resource, in a line. */
export function nameOf({ kind, project, name }: ResourceName): string {
  return [ResourceKind[kind], ...(project === '' ? [] : [project]), name].join(' ').trim()
}
