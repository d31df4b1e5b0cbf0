/** `iam.config.v2.ConfigService`. */
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import type { ConfigService, PlanConfigurationRequest } from '../../../gen/iam/config/v2/config_service_pb.js'
import { ChangeAction, type MistakeSchema, type PlanSchema, ResourceKind } from '../../../gen/iam/config/v2/plan_pb.js'
import type { ConfigurationRequest, Configurations } from '../../app/configuration/configurations.ts'
import { DEFAULT_LABEL, InvalidConfiguration, type Mistake } from '../../domain/configuration/configuration.ts'
import type { ConfigurationPlan, PlannedChange } from '../../domain/configuration/plan.ts'
import { formatClientId } from '../../domain/identities/client-id.ts'
import { actorOf } from '../authorization/actor.ts'
import { reasonOf } from '../messages/errors.ts'
import { fromInstance } from './configuration-export.ts'
import { toConfiguration } from './configuration-mapping.ts'

const KINDS = {
  project: ResourceKind.PROJECT,
  service_user: ResourceKind.SERVICE_USER,
  trusted_issuer: ResourceKind.TRUSTED_ISSUER,
  rotation_policy: ResourceKind.ROTATION_POLICY,
} as const satisfies Record<PlannedChange['kind'], ResourceKind>

export function configService(configurations: Configurations): ServiceImpl<typeof ConfigService> {
  return {
    async planConfiguration(req) {
      try {
        return { plan: fromPlan(await configurations.plan(toRequest(req)), 'planned') }
      } catch (error) {
        if (error instanceof InvalidConfiguration) return { mistakes: error.mistakes.map(fromMistake) }
        throw error
      }
    },

    async applyConfiguration(req, context) {
      const entry = { ...actorOf(context), reason: req.reason }
      const version = req.version === undefined ? null : Number(req.version)
      const stored = await configurations.apply(entry, toRequest(req), version)
      return { plan: fromPlan(stored.plan, 'applied'), version: BigInt(stored.version) }
    },

    async exportConfiguration({ label, projects }) {
      const selection = { label: label === '' ? null : label, projects }
      const { state, moment } = await configurations.export(selection)
      return { configuration: fromInstance(state, selection, moment.clock), version: BigInt(state.version) }
    },
  }
}

function toRequest({
  configuration,
  label,
  prune,
  takeOver,
}: Pick<PlanConfigurationRequest, 'configuration' | 'label' | 'prune' | 'takeOver'>): ConfigurationRequest {
  const read: ConfigurationRequest['read'] = (parsers) => toConfiguration(configuration, parsers)
  return { read, label: label === '' ? DEFAULT_LABEL : label, prune, takeOver }
}

/** @param stage What is only planned has no ids yet. */
function fromPlan(
  { version, changes, takenOver, users }: ConfigurationPlan,
  stage: 'planned' | 'applied',
): MessageInitShape<typeof PlanSchema> {
  const created = new Set(changes.filter(({ before }) => before === undefined).map(({ id }) => id))
  return {
    version: BigInt(version),
    changes: changes.map((change) => ({
      action: actionOf(change),
      resource: fromName(change.name),
      fields: [...change.fields],
      otherUsers: change.otherUsers ?? 0,
    })),
    takenOver: takenOver.map(({ name }) => fromName(name)),
    serviceUsers: users.map(({ project, name, userId }) => {
      if (stage === 'planned' && created.has(userId)) return { project, name }
      return { project, name, userId, clientId: formatClientId({ userId, projectName: project }) }
    }),
  }
}

function fromMistake({ path, message, code }: Mistake): MessageInitShape<typeof MistakeSchema> {
  const reason = code === 'configuration_invalid' ? 'INVALID_ARGUMENT' : reasonOf(code)
  return { path, message: message.toWellFormed(), reason }
}

function fromName({ kind, project, name }: PlannedChange['name']) {
  return { kind: KINDS[kind], project, name }
}

function actionOf({ before, next }: PlannedChange): ChangeAction {
  if (before === undefined) return ChangeAction.CREATE
  return next === null ? ChangeAction.DELETE : ChangeAction.CHANGE
}
