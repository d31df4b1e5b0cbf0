/**
 * `keyturn apply`: brings an instance to the state that files describe, and hands new client secrets over.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { create, type JsonObject, toJson } from '@bufbuild/protobuf'
import { Command } from 'commander'
import { ApplyConfigurationResponseSchema, ConfigService } from '../../../gen/iam/config/v2/config_service_pb.js'
import { printable } from '../../domain/printable.ts'
import { confirm } from '../confirm.ts'
import { untilInterrupted } from '../exit.ts'
import type { Io } from '../io.ts'
import { type YesOption, yesOption } from '../options.ts'
import { formatOf, printableLines, printResult } from '../output.ts'
import { userOf } from './client-secrets.ts'
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
      const progress: Progress = { describe: () => 'nothing was applied' }
      await untilInterrupted(
        io,
        (signal) => apply(io, options, { progress, signal }),
        () => progress.describe(),
      )
    })
}

/** How far an apply has come, for what it says when it is interrupted. */
interface Progress {
  describe: () => string
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
  const shown = formatPlan(planned, options.label, io)
  say(shown)
  // Also beside what a program reads, if a person is asked to confirm it.
  if (!isForPeople && io.isTerminal) io.stderr.write(`${printableLines(shown)}\n`)
  let response = create(ApplyConfigurationResponseSchema, { plan, version: plan.version })
  if (isDifferent(planned) || plan.takenOver.length > 0) {
    await secrets.prepare(planned.files)
    await confirm(io, options, 'Apply this?')
    signal.throwIfAborted()
    progress.describe = () =>
      'it is not known whether the configuration was applied, all of it or nothing: "keyturn plan" shows what is left'
    // The plan that was shown, and no other.
    const sent = { ...request, version: plan.version, reason: options.reason ?? '' }
    response = await api.call(ConfigService.method.applyConfiguration, sent)
    const { version } = response
    progress.describe = () => `the configuration was applied (version ${version})${secrets.describe()}`
    // Before secrets are handed over, which takes longer, and may fail.
    say(formatResult(response, options.label))
    await secrets.run(response.plan?.serviceUsers ?? [], signal)
  }
  for (const { secretId, into, ...user } of secrets.handedOver)
    say(printable(`handed over a client secret of ${userOf(user)} (secret id ${secretId}) into ${into}`))
  if (!isForPeople) {
    const json = toJson(ApplyConfigurationResponseSchema, response) as JsonObject
    const handed = secrets.handedOver.length === 0 ? {} : { secrets: secrets.handedOver }
    await printResult(io, options, { ...json, ...handed }, () => '')
  }
  if (secrets.failures.length > 0) throw new Error(secrets.failures.map(printable).join('\n'))
}
