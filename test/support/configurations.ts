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

/** A new public key (P-256), JSON. */
export function newPublicJwk(): string {
  return JSON.stringify(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }))
}

/** What a change is, in a line, for example `CREATE PROJECT shop`. */
export function lineOf({ action, resource }: PlannedChange): string {
  return `${ChangeAction[action]} ${nameOf(resource!)}`
}

/** A resource, in a line. */
export function nameOf({ kind, project, name }: ResourceName): string {
  return [ResourceKind[kind], ...(project === '' ? [] : [project]), name].join(' ').trim()
}
