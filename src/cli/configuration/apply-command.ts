/**
 * `keyturn apply`: brings an instance to the state that files describe, and hands new client secrets over.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { create, type JsonObject, toJson } from '@bufbuild/protobuf'
import { Command } from 'commander'
import {
  type ApplyConfigurationResponse,
  ApplyConfigurationResponseSchema,
} from '../../../gen/iam/config/v2/config_service_pb.js'
import { printable } from '../../domain/printable.ts'
import { refusalReasonOf, withMessage } from '../api-error.ts'
import { confirm, type YesOption, yesOption } from '../confirm.ts'
import { untilInterrupted } from '../interruption.ts'
import type { Io } from '../io.ts'
import { formatOf, printJson, printWarnings } from '../output.ts'
import { printableLines } from '../printable.ts'
import { ApplyProgress } from './apply-progress.ts'
import { type FileOptions, readConfiguration, withFileOptions } from './file-options.ts'
import { formatPlan, formatResult } from './plan-text.ts'
import { isDifferent, type Planned, planOf } from './planned.ts'
import { cleanUpTargets, type HandedOver, handOverSecrets, prepareHandOver, userOf } from './secrets/hand-over.ts'

/** Made by `npm run generate`. */
const SCHEMA = join(import.meta.dirname, '../../../gen/configuration.schema.json')

interface ApplyOptions extends FileOptions, YesOption {
  readonly reason?: string
  readonly schema?: true
}

/** The command. */
export function applyCommand(io: Io): Command {
  const command = withFileOptions(new Command('apply'))
  return command
    .option('--reason <text>', 'why, for the audit trail: for example the commit')
    .addOption(yesOption())
    .option('--schema', 'print the JSON schema of the documents, and do nothing else')
    .action(async (options: ApplyOptions) => {
      if (options.schema === true) io.stdout.write(readFileSync(SCHEMA, 'utf8'))
      else {
        const progress = new ApplyProgress()
        await untilInterrupted(
          io,
          () => apply(io, { command, options, progress }),
          () => progress.interrupt(),
        )
      }
    })
}

/** One run of the command. */
interface Applying {
  readonly command: Command
  readonly options: ApplyOptions
  readonly progress: ApplyProgress
}

async function apply(io: Io, { command, options, progress }: Applying): Promise<void> {
  const planned = await planOf(io, options, await readConfiguration(io, command, options))
  const { api, plan, secrets } = planned
  printWarnings(io, secrets.warnings)
  showPlan(io, planned, options)
  if (!isDifferent(planned) && plan.takenOver.length === 0) {
    printWarnings(io, await cleanUpTargets(io, secrets.settled))
    const { version } = plan
    if (!isForPeople(options)) printResponse(io, options, create(ApplyConfigurationResponseSchema, { plan, version }))
    return
  }
  const preparation = await prepareHandOver(io, options, secrets.due)
  await confirm(io, options, 'Apply this?')
  progress.sending()
  const response = await applied(planned, options)
  progress.applied(response.version, preparation.targets.map(userOf))
  // Before secrets are handed over, which takes longer, and may fail.
  if (isForPeople(options)) printLine(io.stdout, formatResult(response, options.label))
  printWarnings(io, await cleanUpTargets(io, secrets.settled))
  const users = response.plan?.serviceUsers ?? []
  const { handedOver, failures } = await handOverSecrets(api, preparation, { users, progress })
  if (isForPeople(options)) for (const { words } of handedOver) printLine(io.stdout, printable(words))
  else printResponse(io, options, response, handedOver)
  if (failures.length > 0) throw new Error(failures.map(({ message }) => printable(message)).join('\n'))
}

function isForPeople(options: ApplyOptions): boolean {
  return formatOf(options) === 'table'
}

/** Shows what is about to be applied: also beside what a program reads, if a person is asked to confirm it. */
function showPlan(io: Io, planned: Planned, options: ApplyOptions): void {
  const text = formatPlan(planned, options.label, io)
  if (isForPeople(options)) printLine(io.stdout, text)
  else if (io.isTerminal) printLine(io.stderr, text)
}

/** Applies the plan that was shown, and no other. */
async function applied(
  { configs, request, plan }: Planned,
  { reason = '' }: ApplyOptions,
): Promise<ApplyConfigurationResponse> {
  try {
    return await configs.applyConfiguration({ ...request, version: plan.version, reason })
  } catch (error) {
    if (refusalReasonOf(error) !== 'CONFIGURATION_CHANGED') throw error
    throw withMessage(
      error,
      () =>
        'the instance was changed after the plan was made, and nothing was applied: run the command again, which makes a new plan',
    )
  }
}

function printLine(stream: Io['stdout'], line: string): void {
  stream.write(`${printableLines(line)}\n`)
}

function printResponse(
  io: Io,
  options: ApplyOptions,
  response: ApplyConfigurationResponse,
  handedOver: readonly HandedOver[] = [],
): void {
  const json = toJson(ApplyConfigurationResponseSchema, response) as JsonObject
  const secrets = handedOver.length === 0 ? {} : { secrets: handedOver.map((secret) => secret.json) }
  printJson(io, options, { ...json, ...secrets }, () => '')
}
