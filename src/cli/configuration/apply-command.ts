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
  ConfigService,
} from '../../../gen/iam/config/v2/config_service_pb.js'
import { printable } from '../../domain/printable.ts'
import { rewording } from '../api.ts'
import { confirm } from '../confirm.ts'
import { untilInterrupted } from '../exit.ts'
import type { Io } from '../io.ts'
import { type YesOption, yesOption } from '../options.ts'
import { formatOf, printableLines, printResult } from '../output.ts'
import { type HandedOver, handOverSecrets, prepareHandOver, type SecretState, userOf } from './client-secrets.ts'
import { type FileOptions, formatPlan, formatResult, isDifferent, planOf, withFileOptions } from './plan-command.ts'

/** Made by `npm run generate`. */
const SCHEMA = join(import.meta.dirname, '../../../gen/configuration.schema.json')

interface ApplyOptions extends FileOptions, YesOption {
  readonly reason?: string
  readonly schema?: true
}

export function applyCommand(io: Io): Command {
  return withFileOptions(new Command('apply'))
    .option('--reason <text>', 'why, for the audit trail: for example the commit')
    .addOption(yesOption())
    .option('--schema', 'print the JSON schema of the documents, and do nothing else')
    .action(async (options: ApplyOptions) => {
      if (options.schema === true) {
        io.stdout.write(readFileSync(SCHEMA, 'utf8'))
        return
      }
      const progress: Progress = { configuration: 'nothing was applied', secrets: new Map() }
      await untilInterrupted(
        io,
        (signal) => apply(io, options, { progress, signal }),
        () => describeProgress(progress),
      )
    })
}

/** How far an apply has come, for what it says when it is interrupted. */
interface Progress {
  configuration: string
  readonly secrets: Map<string, SecretState>
}

async function apply(
  io: Io,
  options: ApplyOptions,
  { progress, signal }: { readonly progress: Progress; readonly signal: AbortSignal },
): Promise<void> {
  const planned = await planOf(io, options)
  const { api, request, plan, secrets } = planned
  const isForPeople = formatOf(options) === 'table'
  const say = (line: string) => {
    if (isForPeople) io.stdout.write(`${printableLines(line)}\n`)
  }
  const printResponse = async (response: ApplyConfigurationResponse, handedOver: readonly HandedOver[] = []) => {
    if (isForPeople) return
    const json = toJson(ApplyConfigurationResponseSchema, response) as JsonObject
    const handed = handedOver.length === 0 ? {} : { secrets: [...handedOver] }
    await printResult(io, options, { ...json, ...handed }, () => '')
  }
  const shown = formatPlan(planned, options.label, io)
  say(shown)
  // Also beside what a program reads, if a person is asked to confirm it.
  if (!isForPeople && io.isTerminal) io.stderr.write(`${printableLines(shown)}\n`)
  if (!isDifferent(planned) && plan.takenOver.length === 0) {
    await printResponse(create(ApplyConfigurationResponseSchema, { plan, version: plan.version }))
    return
  }
  const endpoints = await prepareHandOver(io, api, secrets.due)
  await confirm(io, options, 'Apply this?')
  signal.throwIfAborted()
  progress.configuration =
    'it is not known whether the configuration was applied, all of it or nothing: "keyturn plan" shows what is left'
  // The plan that was shown, and no other.
  const sent = { ...request, version: plan.version, reason: options.reason ?? '' }
  const response = await rewording(api.call(ConfigService.method.applyConfiguration, sent), (reason) =>
    reason === 'CONFIGURATION_CHANGED'
      ? 'the instance was changed after the plan was made, and nothing was applied: run the command again, which makes a new plan'
      : undefined,
  )
  progress.configuration = `the configuration was applied (version ${response.version})`
  for (const request of secrets.due) progress.secrets.set(userOf(request), 'not handed over')
  // Before secrets are handed over, which takes longer, and may fail.
  say(formatResult(response, options.label))
  const { handedOver, failures } = await handOverSecrets(io, api, {
    due: secrets.due,
    endpoints,
    users: response.plan?.serviceUsers ?? [],
    states: progress.secrets,
    signal,
  })
  for (const { secretId, into, ...user } of handedOver)
    say(printable(`handed over a client secret of ${userOf(user)} (secret id ${secretId}) into ${into}`))
  await printResponse(response, handedOver)
  if (failures.length > 0) throw new Error(failures.map(printable).join('\n'))
}

/** What is known of an apply when it is interrupted. */
function describeProgress({ configuration, secrets }: Progress): string {
  const states = ['handed over', 'not known whether handed over', 'not handed over'] as const
  const lists = states.flatMap((state) => {
    const users = [...secrets].filter(([, each]) => each === state).map(([user]) => user)
    return users.length === 0 ? [] : [`${state}: ${users.join(', ')}`]
  })
  if (lists.length === 0) return configuration
  const isDone = [...secrets.values()].every((state) => state === 'handed over')
  const advice = isDone ? '' : '. Apply it again for those that are missing'
  return `${configuration}; client secrets ${lists.join('; ')}${advice}`
}
