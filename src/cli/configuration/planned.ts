/**
 * The plan of a configuration: what the server would change, and which secrets would be handed over then.
 */
import { type Client, createClient, type Transport } from '@connectrpc/connect'
import { ConfigService } from '../../../gen/iam/config/v2/config_service_pb.js'
import type { Configuration } from '../../../gen/iam/config/v2/configuration_pb.js'
import { ChangeAction, type Plan } from '../../../gen/iam/config/v2/plan_pb.js'
import type { FileConfiguration } from '../../configuration-files/configuration.ts'
import { ConfigurationMistakes } from '../../configuration-files/mistakes.ts'
import { openApi } from '../api-client.ts'
import type { Io } from '../io.ts'
import type { FileOptions } from './file-options.ts'
import { type PlannedSecrets, planSecrets } from './secrets/planned-secrets.ts'

/** A plan, and what it was made of. */
export interface Planned {
  readonly api: Transport
  readonly configs: Client<typeof ConfigService>
  /** What the server was asked. */
  readonly request: {
    readonly configuration: Configuration
    readonly label: string
    readonly prune: boolean
    readonly takeOver: boolean
  }
  readonly plan: Plan
  readonly secrets: PlannedSecrets
}

/** @throws {ConfigurationMistakes} with the mistakes that the server found, at their places in the files. */
export async function planOf(io: Io, options: FileOptions, files: FileConfiguration): Promise<Planned> {
  const { label, prune = false, takeOver = false } = options
  const api = await openApi(io, options)
  const configs = createClient(ConfigService, api)
  const request = { configuration: files.configuration, label, prune, takeOver }
  const { plan, mistakes } = await configs.planConfiguration(request)
  if (plan === undefined) throw new ConfigurationMistakes(files.located(mistakes))
  return { api, configs, request, plan, secrets: await planSecrets(io, api, { requests: files.secrets, plan }) }
}

/** Whether an instance is not yet as its configuration says. */
export function isDifferent({ plan, secrets }: Pick<Planned, 'plan' | 'secrets'>): boolean {
  return plan.changes.length > 0 || secrets.due.length > 0
}

/** How many resources are created, changed and deleted. */
export function countsOf({ changes }: Plan): { created: number; changed: number; deleted: number } {
  const count = (wanted: ChangeAction) => changes.filter(({ action }) => action === wanted).length
  return {
    created: count(ChangeAction.CREATE),
    changed: count(ChangeAction.CHANGE),
    deleted: count(ChangeAction.DELETE),
  }
}
