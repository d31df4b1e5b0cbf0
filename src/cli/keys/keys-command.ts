/**
 * `keyturn keys list | create | activate`, and the group of all commands for keys.
 */
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { Argument, Command, Option } from 'commander'
import { type RotationStep, RotationStepKind } from '../../../gen/iam/webkey/v2/rotation_pb.js'
import { type WebKey, WebKeyState } from '../../../gen/iam/webkey/v2/web_key_pb.js'
import {
  ActivateWebKeyResponseSchema,
  CreateWebKeyResponseSchema,
  ListWebKeysResponseSchema,
  WebKeyService,
} from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { earlyActivationWarning } from '../../domain/keys/publication.ts'
import { connect } from '../api-client.ts'
import { type YesOption, yesOption } from '../confirm.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { formatOf, printWarnings } from '../output.ts'
import { print } from '../print.ts'
import { ageOf, formatTable, timeLeft } from '../table.ts'
import {
  algorithmOfKind,
  assertOptionsOfKind,
  KINDS,
  type Kind,
  type KindOptions,
  kindOf,
  withKindOptions,
} from './key-kind.ts'
import { deleteKeyCommand } from './keys-delete-command.ts'
import { keyPolicyCommand } from './keys-policy-command.ts'
import { keyScheduleCommand, revokeKeyCommand, rotateKeysCommand } from './keys-rotation-commands.ts'
import { confirmNewKind, NEW_KIND_YES } from './new-kind.ts'

const STATE_NAMES: Record<WebKeyState, string> = {
  [WebKeyState.UNSPECIFIED]: 'unknown',
  [WebKeyState.INITIAL]: 'initial',
  [WebKeyState.ACTIVE]: 'active',
  [WebKeyState.INACTIVE]: 'inactive',
  [WebKeyState.REVOKED]: 'revoked',
}

/** The effect of a step on its key. */
const STEP_NAMES: Record<RotationStepKind, string> = {
  [RotationStepKind.UNSPECIFIED]: 'unknown',
  [RotationStepKind.CREATE]: 'created',
  [RotationStepKind.ACTIVATE]: 'signs',
  [RotationStepKind.DESTROY_PRIVATE_KEY]: 'private key destroyed',
  [RotationStepKind.DELETE]: 'deleted',
}

/** How many steps of the schedule are read for the column NEXT. */
const STEPS = 100

/** The group of commands. */
export function keysCommand(io: Io): Command {
  const keys = new Command('keys')
  for (const command of [
    listCommand(io),
    createCommand(io),
    activateCommand(io),
    deleteKeyCommand(io),
    rotateKeysCommand(io),
    revokeKeyCommand(io),
    keyScheduleCommand(io),
    keyPolicyCommand(io),
  ]) {
    keys.addCommand(command)
  }
  return keys
}

function listCommand(io: Io): Command {
  return withRemoteOptions(new Command('list'))
    .description('List all keys, oldest first, and what happens to each next.')
    .addOption(new Option('--revoked', 'also list revoked keys'))
    .action(async (options: RemoteOptions & { readonly revoked?: true }) => {
      const client = await connect(io, options, WebKeyService)
      const states = options.revoked === true ? STATES_LISTED : []
      const response = await client.listWebKeys({ states })
      const { steps } =
        formatOf(options) === 'table' ? await client.getRotationSchedule({ count: STEPS }) : { steps: [] }
      print(io, options, ListWebKeysResponseSchema, response, (heading) =>
        formatTable(
          ['KEY ID', 'ALGORITHM', 'STATE', 'AGE', 'NEXT'],
          response.webKeys.map((key) => row(key, steps)),
          heading,
        ),
      )
    })
}

const STATES_LISTED = [WebKeyState.INITIAL, WebKeyState.ACTIVE, WebKeyState.INACTIVE, WebKeyState.REVOKED]

function createCommand(io: Io): Command {
  return withKindOptions(withRemoteOptions(new Command('create')))
    .description('Create a key. It is published at once and signs when it is activated.')
    .addArgument(new Argument('[kind]', 'kind of key').choices(KINDS).default('rsa'))
    .addOption(yesOption(NEW_KIND_YES))
    .action(async (kind: Kind, options: RemoteOptions & KindOptions & YesOption, command: Command) => {
      assertOptionsOfKind(command, kind)
      const client = await connect(io, options, WebKeyService)
      const algorithm = algorithmOfKind(kind, options)
      const shown = await confirmNewKind(io, client, { ...options, algorithm, question: 'Create the key?' })
      const response = await client.createWebKey({ config: kindOf(kind, options) })
      const { webKey: key, warnings } = response
      printWarnings(
        io,
        warnings.filter((warning) => !shown.includes(warning)),
      )
      print(
        io,
        options,
        CreateWebKeyResponseSchema,
        response,
        () => `created ${key?.keyId} (${key?.algorithm}), initial`,
      )
    })
}

function activateCommand(io: Io): Command {
  return withRemoteOptions(new Command('activate'))
    .description('Make a key sign all new tokens. The key that was active becomes inactive.')
    .argument('<key-id>')
    .action(async (keyId: string, options: RemoteOptions) => {
      const response = await (await connect(io, options, WebKeyService)).activateWebKey({ keyId })
      const { webKey: key, knownFrom } = response
      if (knownFrom !== undefined) {
        printWarnings(io, [earlyActivationWarning(timestampDate(knownFrom))])
      }
      print(
        io,
        options,
        ActivateWebKeyResponseSchema,
        response,
        () => `activated ${key?.keyId}: it signs all new tokens`,
      )
    })
}

function row(key: WebKey, steps: readonly RotationStep[]): string[] {
  return [key.keyId, key.algorithm, STATE_NAMES[key.state], ageOf(key.creationDate), nextOf(key, steps)]
}

/** The next step for a key. For the active key it is the activation of another one. */
function nextOf(key: WebKey, steps: readonly RotationStep[]): string {
  const step =
    key.state === WebKeyState.ACTIVE
      ? steps.find(({ kind }) => kind === RotationStepKind.ACTIVATE)
      : steps.find(({ keyId }) => keyId === key.keyId)
  if (step === undefined) return ''
  const what = key.state === WebKeyState.ACTIVE ? 'replaced' : STEP_NAMES[step.kind]
  const left = timeLeft(step.date)
  return left === '-' ? `${what} now` : `${what} in ${left}`
}
