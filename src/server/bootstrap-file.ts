/**
 * The file with the configuration that an empty instance begins with. Nothing in it is a secret, and none is made: its owner proves itself with a key
 * of its own, or by its platform.
 */
import { randomUUID } from 'node:crypto'
import { type PlanningOptions, prepareConfiguration } from '../app/configuration/configurations.ts'
import type { Config } from '../config/config.ts'
import { parseConfiguration } from '../configuration-files/configuration.ts'
import { ConfigurationMistakes } from '../configuration-files/mistakes.ts'
import { readSourceFiles } from '../configuration-files/source-files.ts'
import { parseCaCertificates, parseIssuerKeys } from '../crypto/issuer-key.ts'
import { thumbprint } from '../crypto/public-key-macs.ts'
import { parseUserKeys } from '../crypto/user-key.ts'
import {
  type Configuration,
  DEFAULT_LABEL,
  type ServiceUserConfiguration,
} from '../domain/configuration/configuration.ts'
import type { ConfiguredUser } from '../domain/configuration/plan.ts'
import { DomainError } from '../domain/errors.ts'
import { formatClientId } from '../domain/identities/client-id.ts'
import type { FirstConfiguration } from '../domain/ports/instance.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { toConfiguration } from '../rpc/configuration/configuration-mapping.ts'

export interface BootstrapFile {
  readonly configuration: FirstConfiguration
  /** The client IDs of its owners, once it has been stored: the server has made them. */
  ownerClientIds(): readonly string[]
}

const NO_OWNER =
  'give it an enabled service user with instanceRoles [INSTANCE_ROLE_IAM_OWNER] and with a public key or a federated identity, which administers the instance'

/**
 * The configuration of `KEYTURN_BOOTSTRAP_FILE`; null if there is none, or the instance is not empty.
 * @throws {Error} with all mistakes; if it has no owner who can prove itself, or asks for a secret.
 */
export async function readBootstrapFile(
  config: Config,
  { isEmpty, baseUrl, log }: { readonly isEmpty: boolean; readonly baseUrl: string; readonly log: Log },
): Promise<BootstrapFile | null> {
  const { bootstrapFile: file } = config
  if (file === null) return null
  if (!isEmpty) {
    log.info({ file }, 'the instance was set up before: KEYTURN_BOOTSTRAP_FILE is ignored')
    return null
  }
  const read = parseConfiguration(await readSourceFiles([file]))
  const [secret] = read.secrets
  if (secret !== undefined) {
    throw new Error(`${file}: generateSecret works with "keyturn apply" only: the server hands no secret over`)
  }
  const planning = planningOptions(config, baseUrl)
  const wanted = toConfiguration(read.configuration, planning)
  const request = { read: () => wanted, label: DEFAULT_LABEL, prune: false, takeOver: false }
  const prepared = prepareConfiguration(request, planning)
  const owners = ownersOf(wanted.configuration)
  if (owners.length === 0) throw new Error(`${file} has no owner: ${NO_OWNER}`)
  let users: readonly ConfiguredUser[] = []
  return {
    configuration: {
      kind: 'configuration',
      ...prepared,
      decide: (state, moment) => {
        try {
          const plan = prepared.decide(state, moment)
          users = plan.users
          return plan
        } catch (error) {
          // Each with its line.
          throw error instanceof DomainError ? new ConfigurationMistakes(read.located(error.fields)) : error
        }
      },
    },
    ownerClientIds: () =>
      users
        .filter(({ project, name }) => owners.some((owner) => owner.project === project && owner.name === name))
        .map(({ userId, project }) => formatClientId({ userId, projectName: project })),
  }
}

/** What plans of configurations need of this server. */
export function planningOptions(config: Config, issuer: string): PlanningOptions {
  const { jwksMaxAgeSeconds, tokenLifetimeSeconds, maxStalenessSeconds, maxWebKeys } = config
  const limits = { jwksMaxAgeSeconds, tokenLifetimeSeconds, maxStalenessSeconds, maxWebKeys }
  return {
    parseUserKeys,
    parseIssuerKeys,
    parseCaCertificates,
    newId: randomUUID,
    thumbprintOf: thumbprint,
    issuer,
    limits,
  }
}

/** Those who can prove themselves at the token endpoint. */
function ownersOf({ serviceUsers }: Configuration): readonly ServiceUserConfiguration[] {
  return serviceUsers.filter(
    ({ enabled, clientCredentialsEnabled, instanceRoles, publicKeys, federatedIdentities }) =>
      enabled &&
      clientCredentialsEnabled &&
      instanceRoles.includes('IAM_OWNER') &&
      publicKeys.length + federatedIdentities.length > 0,
  )
}
