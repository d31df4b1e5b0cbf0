/**
 * Plans and mistakes from the domain to the wire.
 */
import { create } from '@bufbuild/protobuf'
import {
  ChangeAction,
  MistakeSchema,
  PlanSchema,
  ResourceKind,
  type Mistake as WireMistake,
  type Plan as WirePlan,
} from '../../../gen/iam/config/v2/plan_pb.js'
import type { ResourceName } from '../../domain/configuration/configuration.ts'
import type { Mistake } from '../../domain/configuration/mistakes.ts'
import type { ConfigurationPlan, PlannedChange } from '../../domain/configuration/plan.ts'
import { formatClientId } from '../../domain/identities/client-id.ts'
import { reasonOf } from '../messages/errors.ts'

const KINDS = {
  project: ResourceKind.PROJECT,
  service_user: ResourceKind.SERVICE_USER,
  trusted_issuer: ResourceKind.TRUSTED_ISSUER,
  rotation_policy: ResourceKind.ROTATION_POLICY,
} as const satisfies Record<ResourceName['kind'], ResourceKind>

/** @param stage What is only planned has no ids yet. */
export function fromPlan(
  { version, changes, takenOver, users }: ConfigurationPlan,
  stage: 'planned' | 'applied',
): WirePlan {
  const created = new Set(
    changes.flatMap((change) =>
      change.kind === 'service_user' && change.before === undefined ? [change.next?.userId] : [],
    ),
  )
  return create(PlanSchema, {
    version: BigInt(version),
    changes: changes.map((change) => ({
      action: actionOf(change),
      resource: fromName(change.name),
      fields: change.fields.map(({ field, before, after, otherUsers = 0 }) => ({ field, before, after, otherUsers })),
      otherUsers: change.otherUsers ?? 0,
    })),
    takenOver: takenOver.map(({ name }) => fromName(name)),
    serviceUsers: users.map(({ project, name, userId }) => {
      if (stage === 'planned' && created.has(userId)) return { project, name }
      return { project, name, userId, clientId: formatClientId({ userId, projectName: project }) }
    }),
  })
}

export function fromMistake({ path, message, code }: Mistake): WireMistake {
  const reason = code === 'configuration_invalid' ? 'INVALID_ARGUMENT' : reasonOf(code)
  return create(MistakeSchema, { path, message: message.toWellFormed(), reason })
}

function fromName(name: ResourceName) {
  return {
    kind: KINDS[name.kind],
    project: name.kind === 'service_user' ? name.project : '',
    name: name.kind === 'rotation_policy' ? '' : name.name,
  }
}

function actionOf({ before, next }: PlannedChange): ChangeAction {
  if (before === undefined) return ChangeAction.CREATE
  return next === null ? ChangeAction.DELETE : ChangeAction.CHANGE
}
