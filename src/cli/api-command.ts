/**
 * Commands that call one method of the API, as declarations: which arguments and options become which fields of the request, and what of
 * the response is shown.
 */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
  toJson,
} from '@bufbuild/protobuf'
import type { Transport } from '@connectrpc/connect'
import { Argument, Command, type Option } from 'commander'
import { openApi } from './api-client.ts'
import { type Paint, painter } from './color.ts'
import { confirm, type YesOption, yesOption } from './confirm.ts'
import type { Io } from './io.ts'
import { type RemoteOptions, withRemoteOptions } from './options.ts'
import { formatOf, printJson, printWarnings } from './output.ts'
import { everyItemOf } from './pages.ts'
import { formatTable } from './table.ts'

/** Makes a command, or a group of them. */
export type Declaration = (io: Io) => Command

/** An argument of a command. Its key is the field of the request that it is for. */
export interface Parameter<Value = string> {
  /** What the usage calls it. Default: the key, with dashes. */
  readonly placeholder?: string
  readonly description?: string
  readonly choices?: readonly string[]
  /** It may be left out, and is this then. */
  readonly fallback?: string
  /** Called before anything is sent. @throws {InvalidArgumentError} */
  readonly check?: (text: string) => unknown
  /** What the API takes for it. Default: the text itself. */
  readonly resolve?: (text: string, api: Transport) => Value | Promise<Value>
}

type Parameters = Readonly<Record<string, Parameter<unknown>>>

type Values<Takes extends Parameters> = {
  readonly [Key in keyof Takes]: Takes[Key] extends { resolve: (...args: never) => infer Value }
    ? Awaited<Value>
    : string
}

type Texts<Takes extends Parameters> = { readonly [Key in keyof Takes]: string }

/** What a command was called with. */
export interface Called<Takes extends Parameters, Options> {
  readonly io: Io
  readonly api: Transport
  readonly options: RemoteOptions & Options
  readonly command: Command
  /** The arguments, as they were typed. */
  readonly texts: Texts<Takes>
  /** Paints the heading of a table. */
  readonly heading: Paint
}

interface Base<Input extends DescMessage, Output extends DescMessage, Takes extends Parameters, Options> {
  readonly name: string
  readonly description: string
  readonly method: DescMethodUnary<Input, Output>
  /** In their order. */
  readonly takes?: Takes
  readonly options?: readonly Option[]
  /** Called before anything is sent: ends the command with `command.error` if it is called wrongly. */
  readonly check?: (options: Options, command: Command, texts: Texts<Takes>) => void
  /** Default: the values of the arguments, by their keys. */
  readonly request?: (
    values: Values<Takes>,
    called: Called<Takes, Options>,
  ) => MessageInitShape<Input> | Promise<MessageInitShape<Input>>
}

/** A command that calls a method once. */
export interface Call<Input extends DescMessage, Output extends DescMessage, Takes extends Parameters, Options>
  extends Base<Input, Output, Takes, Options> {
  /** Asked at a terminal before what cannot be undone. */
  readonly question?: (values: Values<Takes>, called: Called<Takes, Options>) => string
  /** Warns before the call, and asks. @returns The warnings, which are not printed again if the response has them. */
  readonly warn?: (values: Values<Takes>, called: Called<Takes, Options>) => Promise<readonly string[]>
  /** A refusal of the call in the words of the command. Default: as it is. */
  readonly reword?: (error: unknown) => unknown
  /** What is done after the call. @returns Another response, which is printed instead, and a line for the end of the text. */
  readonly finish?: (
    response: MessageShape<Output>,
    values: Values<Takes>,
    called: Called<Takes, Options>,
  ) => Promise<{ readonly response: MessageInitShape<Output>; readonly line?: string } | undefined>
  /** What the response says, for people. */
  readonly text: (
    response: MessageShape<Output>,
    values: Values<Takes>,
    called: Called<Takes, Options>,
  ) => string | Promise<string>
}

/** A command that lists all pages of something. */
export interface List<
  Input extends DescMessage,
  Output extends DescMessage,
  Takes extends Parameters,
  Options,
  Items extends keyof MessageShape<Output>,
> extends Base<Input, Output, Takes, Options> {
  /** The field of the response that has them. */
  readonly items: Items
  readonly heading: readonly string[]
  readonly row: (
    item: MessageShape<Output>[Items] extends readonly (infer Item)[] ? Item : never,
  ) => string | readonly string[]
}

/** Declares a group of commands. */
export function group(name: string, description: string, commands: readonly Declaration[]): Declaration {
  return (io) => commands.reduce((all, make) => all.addCommand(make(io)), new Command(name).description(description))
}

/** Declares a command that calls a method once. */
export function call<
  Input extends DescMessage,
  Output extends DescMessage,
  Takes extends Parameters = Record<never, never>,
  Options = unknown,
>(declared: Call<Input, Output, Takes, Options>): Declaration {
  const { method, question, warn, reword, finish, text } = declared
  return commandOf(declared, question !== undefined, async (request, values, called) => {
    const { io, options, api } = called
    if (question !== undefined) await confirm(io, options as YesOption, question(values, called))
    const warned = (await warn?.(values, called)) ?? []
    const response = await invoke(api, method, request).catch((error: unknown) => {
      throw reword?.(error) ?? error
    })
    const { warnings = [] } = response as { readonly warnings?: readonly string[] }
    printWarnings(
      io,
      warnings.filter((warning) => !warned.includes(warning)),
    )
    const finished = await finish?.(response, values, called)
    const last = finished === undefined ? response : create(method.output, finished.response)
    await print(called, method.output, last, async () =>
      [await text(last, values, called), finished?.line].filter((line) => line !== undefined).join('\n'),
    )
  })
}

/** Declares a command that lists all pages of something. */
export function list<
  Input extends DescMessage,
  Output extends DescMessage,
  Items extends keyof MessageShape<Output>,
  Takes extends Parameters = Record<never, never>,
  Options = unknown,
>(declared: List<Input, Output, Takes, Options, Items>): Declaration {
  const { method, items, heading, row } = declared
  return commandOf(declared, false, async (request, _values, called) => {
    const all = await everyItemOf(
      (page) => invoke(called.api, method, { ...request, ...page }) as Promise<MessageShape<Output> & NextPage>,
      (response) => response[items] as readonly ItemOf<typeof row>[],
    )
    const response = create(method.output, { [items]: all } as MessageInitShape<Output>)
    await print(called, method.output, response, () =>
      formatTable(
        heading,
        all.map((item) => [row(item)].flat()),
        called.heading,
      ),
    )
  })
}

type ItemOf<Row> = Row extends (item: infer Item) => unknown ? Item : never

interface NextPage {
  readonly nextPageToken: string
}

/** Calls a method. */
export async function invoke<Input extends DescMessage, Output extends DescMessage>(
  api: Transport,
  method: DescMethodUnary<Input, Output>,
  request: MessageInitShape<Input>,
): Promise<MessageShape<Output>> {
  return (await api.unary(method, undefined, undefined, undefined, request)).message
}

/** Prints a response: as JSON or YAML, or what a person reads. */
export async function print<Output extends DescMessage>(
  { io, options }: Pick<Called<Parameters, unknown>, 'io' | 'options'>,
  schema: Output,
  response: MessageShape<Output>,
  text: () => string | Promise<string>,
): Promise<void> {
  const shown = formatOf(options) === 'table' ? await text() : ''
  printJson(io, options, toJson(schema, response), () => shown)
}

function commandOf<Input extends DescMessage, Output extends DescMessage, Takes extends Parameters, Options>(
  { name, description, takes, options = [], check, request }: Base<Input, Output, Takes, Options>,
  isConfirmed: boolean,
  run: (request: MessageInitShape<Input>, values: Values<Takes>, called: Called<Takes, Options>) => Promise<void>,
): Declaration {
  const parameters = Object.entries(takes ?? {})
  return (io) => {
    const command = withRemoteOptions(new Command(name)).description(description)
    for (const [key, parameter] of parameters) command.addArgument(argumentOf(key, parameter))
    for (const option of options) command.addOption(option)
    if (isConfirmed) command.addOption(yesOption())
    return command.action(async (...given: unknown[]) => {
      const texts = Object.fromEntries(parameters.map(([key], index) => [key, String(given[index])])) as Texts<Takes>
      const chosen = given[parameters.length] as RemoteOptions & Options
      check?.(chosen, command, texts)
      const api = await openApi(io, chosen)
      const resolved: Record<string, unknown> = {}
      for (const [key, { resolve }] of parameters) {
        const text = texts[key] ?? ''
        resolved[key] = resolve === undefined ? text : await resolve(text, api)
      }
      const values = resolved as Values<Takes>
      const called = { io, api, options: chosen, command, texts, heading: painter(io, 'stdout', 'bold') }
      await run(
        request === undefined ? (resolved as MessageInitShape<Input>) : await request(values, called),
        values,
        called,
      )
    })
  }
}

/** The argument that a parameter is. */
export function argumentOf(
  key: string,
  { placeholder, description, choices, fallback, check }: Parameter<unknown>,
): Argument {
  const name = placeholder ?? key.replace(/[A-Z]/g, '-$&').toLowerCase()
  const argument = new Argument(fallback === undefined ? `<${name}>` : `[${name}]`, description)
  if (fallback !== undefined) argument.default(fallback)
  if (choices !== undefined) return argument.choices(choices)
  if (check === undefined) return argument
  return argument.argParser((text) => {
    check(text)
    return text
  })
}
