/**
 * `iam.config.v2.ConfigService`.
 */
import type { ServiceImpl } from '@connectrpc/connect'
import type { ConfigService, PlanConfigurationRequest } from '../../../gen/iam/config/v2/config_service_pb.js'
import type { ConfigurationRequest, Configurations } from '../../app/configuration/configurations.ts'
import { DEFAULT_LABEL } from '../../domain/configuration/configuration.ts'
import { actorOf } from '../authorization/actor.ts'
import { fromConfiguration } from './configuration-export.ts'
import { toConfigurationText } from './configuration-mapping.ts'
import { fromMistake, fromPlan } from './plan-mapping.ts'

/** Answers the calls of the service. */
export function configService(configurations: Configurations): ServiceImpl<typeof ConfigService> {
  return {
    async planConfiguration(req) {
      const outcome = await configurations.plan(toRequest(req))
      return outcome.kind === 'plan'
        ? { plan: fromPlan(outcome.plan, 'planned') }
        : { mistakes: outcome.mistakes.map(fromMistake) }
    },

    async applyConfiguration(req, context) {
      const entry = { ...actorOf(context), reason: req.reason }
      const version = req.version === undefined ? null : Number(req.version)
      const stored = await configurations.apply(entry, toRequest(req), version)
      return { plan: fromPlan(stored.plan, 'applied'), version: BigInt(stored.version) }
    },

    async exportConfiguration({ label, projects }) {
      const { configuration, version } = await configurations.export({ label: label === '' ? null : label, projects })
      return { configuration: fromConfiguration(configuration), version: BigInt(version) }
    },
  }
}

function toRequest({
  configuration,
  label,
  prune,
  takeOver,
}: Pick<PlanConfigurationRequest, 'configuration' | 'label' | 'prune' | 'takeOver'>): ConfigurationRequest {
  return { ...toConfigurationText(configuration), label: label === '' ? DEFAULT_LABEL : label, prune, takeOver }
}
