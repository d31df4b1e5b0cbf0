/**
 * `keyturn plan`: the difference between an instance and the files of a configuration. `keyturn apply` begins with the same.
 *
 * As text, `+` is created, `~` changed and `-` deleted, of resources and of what is in them.
 */
import { type JsonObject, toJson } from '@bufbuild/protobuf'
import { Command, InvalidArgumentError } from 'commander'
import { type ApplyConfigurationResponse, ConfigService } from '../../../gen/iam/config/v2/config_service_pb.js'
import {
  ChangeAction,
  type FieldDifference,
  type Plan,
  type PlannedChange,
  PlanSchema,
  ResourceKind,
  type ResourceName,
} from '../../../gen/iam/config/v2/plan_pb.js'
import { parseConfiguration } from '../../configuration-files/configuration.ts'
import { ConfigurationMistakes } from '../../configuration-files/mistakes.ts'
import { readSourceFiles } from '../../configuration-files/source-files.ts'
import { printable } from '../../domain/printable.ts'
import { openApi } from '../api.ts'
import { DIFFERENT, EndWith } from '../exit.ts'
import type { Io } from '../io.ts'
import { option, type RemoteOptions, UsageError, withRemoteOptions } from '../options.ts'
import { painter, printResult, printWarnings } from '../output.ts'
import { SecretHandOver, userOf } from './client-secrets.ts'

export interface FileOptions extends RemoteOptions {
  readonly file?: readonly string[]
  readonly label: string
  readonly prune?: true
  readonly takeOver?: true
}

/** A plan, and what it was made of. */
type Planned = Awaited<ReturnType<typeof planOf>>

export function planCommand(io: Io): Command {
  return withFileOptions(new Command('plan'))
    .option('--detailed-exitcode', 'exit with 0 without a difference, 1 after an error, 2 with a difference')
    .action(async (options: FileOptions & { readonly detailedExitcode?: true }) => {
      const planned = await planOf(io, options)
      await printResult(io, options, planJson(planned), () => formatPlan(planned, options.label, io))
      if (options.detailedExitcode === true && isDifferent(planned)) throw new EndWith(DIFFERENT)
    })
}

export function withFileOptions(command: Command): Command {
  return withRemoteOptions(
    command
      .addOption(
        repeatable(
          '-f, --file <file>',
          'a file (YAML or JSON), a folder with such files, or - for standard input; may be given several times',
        ),
      )
      .addOption(
        labelOption('what belongs to these files: a name for all that they make or take over').default('default'),
      )
      .option('--prune', 'delete what has the label and is not in the files')
      .option('--take-over', 'take over what has another label'),
  )
}

export function repeatable(flags: string, description: string) {
  return option(flags, description).argParser((value: string, others: readonly string[] | undefined) => [
    ...(others ?? []),
    value,
  ])
}

export function labelOption(description: string) {
  return option('--label <label>', description).argParser((text) => {
    if (/^[a-z0-9][a-z0-9-]{0,62}$/.test(text)) return text
    throw new InvalidArgumentError('It has 1 to 63 of a-z, 0-9 and -, and does not start with -.')
  })
}

/**
 * Plans the configuration in the files. Warns of a file without a document: with `--prune`, what a file had that was emptied by mistake is
 * deleted.
 *
 * @throws {ConfigurationMistakes} before anything is sent, or with the mistakes that the server found, at their places in the files.
 */
export async function planOf(io: Io, options: FileOptions) {
  const { file, label, prune = false, takeOver = false } = options
  if (file === undefined) throw new UsageError("required option '-f, --file <file>' not specified")
  const files = parseConfiguration(await readSourceFiles(file, file.includes('-') ? io.stdin : undefined))
  printWarnings(
    io,
    files.emptyFiles.map((name) => `there is no document in ${name}`),
  )
  const api = await openApi(io, options)
  const request = { configuration: files.configuration, label, prune, takeOver }
  const { plan, mistakes } = await api.call(ConfigService.method.planConfiguration, request)
  if (plan === undefined) throw new ConfigurationMistakes(files.located(mistakes))
  const secrets = new SecretHandOver(io, api)
  await secrets.plan(files.secrets, plan.serviceUsers)
  printWarnings(io, secrets.warnings)
  return { files, api, request, plan, secrets }
}

/** Whether an instance is not yet as its configuration says. */
export function isDifferent({ plan, secrets }: Pick<Planned, 'plan' | 'secrets'>): boolean {
  return plan.changes.length > 0 || secrets.due.length > 0
}

type Signs = Readonly<Record<'added' | 'changed' | 'removed', string>>

export function formatPlan({ plan, secrets }: Pick<Planned, 'plan' | 'secrets'>, label: string, io: Io): string {
  const signs = {
    added: painter(io, 'stdout', 'green')('+'),
    changed: painter(io, 'stdout', 'yellow')('~'),
    removed: painter(io, 'stdout', 'red')('-'),
  }
  const labelled = onlyLabelled(plan)
  const counts = tally(plan, ['to create', 'to change', 'to delete'])
  if (secrets.due.length > 0) counts.push(`client secrets to hand over: ${secrets.due.length}`)
  const isSame = plan.changes.length === 0 && secrets.due.length === 0
  if (labelled.length > 0) {
    const gets = labelled.length === 1 ? 'gets' : 'get'
    counts.push(`and ${resources(labelled, isSame)} ${gets} the label ${label}`)
  }
  const summary = isSame ? ['no difference', ...counts.slice(3)] : counts
  return [
    ...plan.changes.flatMap((change) => changeLines(change, signs)),
    ...labelled.map((name) => `  ${name} gets the label ${label}, and is not changed`),
    ...secrets.due.map(
      (request) => `${signs.added} client secret of ${printable(`${userOf(request)}, into ${request.into}`)}`,
    ),
    `${summary.join(', ')} (version ${plan.version} of the instance)`,
  ].join('\n')
}

export function planJson({ plan, secrets }: Pick<Planned, 'plan' | 'secrets'>): JsonObject {
  const due = secrets.due.map(({ project, name, into }) => ({ project, name, into }))
  return { ...(toJson(PlanSchema, plan) as JsonObject), ...(due.length === 0 ? {} : { secrets: due }) }
}

/** What an apply has done, in one line. */
export function formatResult({ plan, version }: ApplyConfigurationResponse, label: string): string {
  const labelled = plan === undefined ? [] : onlyLabelled(plan)
  const isSame = plan === undefined || plan.changes.length === 0
  const got = labelled.length === 0 ? [] : [`${resources(labelled, isSame)} got the label ${label}`]
  const done = isSame
    ? (got.map((text) => `${text}, and none was changed`)[0] ?? 'nothing was changed')
    : [...tally(plan, ['created', 'changed', 'deleted']), ...got.map((text) => `and ${text}`)].join(', ')
  return `applied: ${done} (version ${version})`
}

/** How many resources are created, changed and deleted. */
function tally({ changes }: Plan, [created, changed, deleted]: readonly [string, string, string]): string[] {
  const count = (wanted: ChangeAction) => changes.filter(({ action }) => action === wanted).length
  return [
    `${count(ChangeAction.CREATE)} ${created}`,
    `${count(ChangeAction.CHANGE)} ${changed}`,
    `${count(ChangeAction.DELETE)} ${deleted}`,
  ]
}

/** Resources that are as the files say, and only get the label. */
function onlyLabelled({ changes, takenOver }: Plan): string[] {
  const changed = new Set(changes.map(({ resource }) => nameOf(resource)))
  return takenOver.map(nameOf).filter((name) => !changed.has(name))
}

function resources({ length }: readonly string[], isAll: boolean): string {
  return `${length}${isAll ? '' : ' other'} ${length === 1 ? 'resource' : 'resources'}`
}

const KINDS: Readonly<Record<number, string>> = {
  [ResourceKind.PROJECT]: 'project ',
  [ResourceKind.SERVICE_USER]: 'service user ',
  [ResourceKind.TRUSTED_ISSUER]: 'trusted issuer ',
  [ResourceKind.ROTATION_POLICY]: 'rotation policy',
}

/** The name of a resource in words. */
function nameOf(resource: ResourceName | undefined): string {
  const { kind = 0, project = '', name = '' } = resource ?? {}
  return `${KINDS[kind] ?? 'resource '}${printable(name)}${project === '' ? '' : `@${project}`}`
}

function changeLines({ action, resource, fields, otherUsers }: PlannedChange, signs: Signs): string[] {
  const lost = resource?.kind === ResourceKind.PROJECT ? 'roles in it' : 'federated identities of it'
  const other = action === ChangeAction.DELETE ? signs.removed : signs.changed
  const sign = action === ChangeAction.CREATE ? signs.added : other
  return [
    `${sign} ${nameOf(resource)}${loss(otherUsers, lost)}`,
    ...fields.map((field) => `    ${fieldLine(field, signs)}`),
  ]
}

/** What a plan takes away from users that it does not name. */
function loss(users: number, what: string): string {
  if (users === 0) return ''
  return ` (${users === 1 ? '1 other service user loses' : `${users} other service users lose`} ${what})`
}

function fieldLine(difference: FieldDifference, { added, changed, removed }: Signs): string {
  const [field, before, after] = [difference.field, difference.before, difference.after].map(printable)
  if (before === '') return `${added} ${field}: ${after}`
  return after === ''
    ? `${removed} ${field}: ${before}${loss(difference.otherUsers, 'it')}`
    : `${changed} ${field}: ${before} -> ${after}`
}
