/**
 * Commands that call the API, as declarations: which arguments and options become which fields of a request, and what of the response is
 * shown.
 */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
  toJson,
} from '@bufbuild/protobuf'
import { Argument, Command } from 'commander'
import { printable } from '../domain/printable.ts'
import { type Api, type ItemOf, openApi } from './api.ts'
import { confirm } from './confirm.ts'
import type { Io } from './io.ts'
import {
  type Chosen,
  type RemoteOptions,
  type TypedOption,
  withRemoteOptions,
  type YesOption,
  yesOption,
} from './options.ts'
import { formatMessage, formatOf, printResult, printWarnings, type Shown, tableOf } from './output.ts'

export type Declaration = (io: Io) => Command

/** An argument of a command. Its key is the field of the request that it is for. */
export interface Parameter {
  /** What the usage calls it. Default: the key, with dashes. */
  readonly placeholder?: string
  readonly description?: string
  readonly choices?: readonly string[]
  /** It may be left out, and is this then. */
  readonly fallback?: string
  /** Called before anything is sent. @throws {InvalidArgumentError} */
  readonly check?: (text: string) => unknown
  /** What the API takes for it. Default: the text itself. */
  readonly resolve?: (text: string, api: Api) => string | Promise<string>
}

type Parameters = Readonly<Record<string, Parameter>>
type Options = Readonly<Record<string, TypedOption<unknown>>>

type Texts<Takes extends Parameters> = { readonly [Key in keyof Takes]: string }

/** What a command was called with. */
interface Called<Takes extends Parameters, Has extends Options> {
  readonly io: Io
  readonly api: Api
  readonly options: Chosen<Has> & RemoteOptions & YesOption
  /** The arguments, as they were typed. */
  readonly texts: Texts<Takes>
}

/** What a command does with what it was called with. */
type Step<Takes extends Parameters, Has extends Options, Result, Before extends readonly unknown[] = []> = (
  ...args: [...Before, values: Texts<Takes>, called: Called<Takes, Has>]
) => Result

interface Declared<Takes extends Parameters, Has extends Options> {
  readonly description: string
  readonly takes?: Takes
  readonly options?: Has
  /** Called before anything is sent. @throws {UsageError} if the command is called wrongly. */
  readonly check?: (options: Chosen<Has>, texts: Texts<Takes>) => void
}

interface Call<Input extends DescMessage, Output extends DescMessage, Takes extends Parameters, Has extends Options>
  extends Declared<Takes, Has> {
  /** Default: the values of the arguments, by their keys. */
  readonly request?: Step<Takes, Has, MessageInitShape<Input> | Promise<MessageInitShape<Input>>>
  /** Asked at a terminal before what cannot be undone. Undefined: nothing is asked. */
  readonly question?: Step<Takes, Has, string | undefined | Promise<string | undefined>>
  /** Default: the method is called. @returns The response that is shown. */
  readonly send?: Step<Takes, Has, Promise<MessageShape<Output>>, [request: MessageInitShape<Input>]>
  /** A line for standard error after the text: not in JSON or YAML. */
  readonly note?: Step<Takes, Has, string>
  /** What a person reads: the fields of the response, or a text. Default: what was done to the last argument, such as `deleted X`. */
  readonly text?: 'fields' | Step<Takes, Has, Shown | Promise<Shown>, [response: MessageShape<Output>]>
}

interface List<
  Input extends DescMessage,
  Output extends DescMessage,
  Takes extends Parameters,
  Has extends Options,
  Item,
> extends Pick<Call<Input, Output, Takes, Has>, 'description' | 'takes' | 'options' | 'request'> {
  readonly name?: string
  /** The fields of an item that are shown. Default: the item itself, which is a text. */
  readonly columns?: readonly (string & keyof Item)[]
}

export function group(name: string, description: string, commands: readonly Declaration[]): Declaration {
  return (io) => commands.reduce((all, make) => all.addCommand(make(io)), new Command(name).description(description))
}

/** Declares a command that calls a method once. */
export function call<
  Input extends DescMessage,
  Output extends DescMessage,
  Takes extends Parameters = Record<never, never>,
  Has extends Options = Record<never, never>,
>(name: string, method: DescMethodUnary<Input, Output>, declared: Call<Input, Output, Takes, Has>): Declaration {
  const { question, options } = declared
  const { text = (_, __, { texts }) => `${name}d ${Object.values(texts).at(-1)}` } = declared
  const { send = (request, _, { api }) => api.call(method, request) } = declared
  const confirmation = question === undefined ? {} : { yes: yesOption() }
  return command(name, {
    ...declared,
    options: { ...options, ...confirmation } as unknown as Has,
    async run(values, called) {
      const { io } = called
      const request = (await declared.request?.(values, called)) ?? (values as MessageInitShape<Input>)
      const asks = io.isTerminal && called.options.yes !== true
      const asked = asks ? await question?.(values, called) : undefined
      if (asked !== undefined) await confirm(io, called.options, asked)
      const response = await send(request, values, called)
      const { warnings = [] } = response as { readonly warnings?: readonly string[] }
      printWarnings(io, warnings)
      await printResult(io, called.options, toJson(method.output, response), () =>
        text === 'fields' ? formatMessage(method.output, response) : text(response, values, called),
      )
      if (declared.note !== undefined && formatOf(called.options) === 'table')
        io.stderr.write(`${printable(declared.note(values, called))}\n`)
    },
  })
}

/** Declares a command that lists all pages of something. @param items The field of the response that has them. */
export function list<
  Input extends DescMessage,
  Output extends DescMessage,
  Items extends keyof MessageShape<Output>,
  Takes extends Parameters = Record<never, never>,
  Has extends Options = Record<never, never>,
>(
  method: DescMethodUnary<Input, Output>,
  items: Items,
  declared: List<Input, Output, Takes, Has, ItemOf<MessageShape<Output>[Items]>>,
): Declaration {
  const { name = 'list', columns } = declared
  return call(name, method, {
    ...declared,
    async send(request, _, { api }) {
      const all = await api.all(method, items, request)
      return create(method.output, { [items]: all } as MessageInitShape<Output>)
    },
    text: (response) => tableOf(method.output, response, { items: String(items), columns }),
  })
}

/** The fields of a change that are not undefined, and the mask that names them. */
export function namedFields<Fields extends object>(fields: Fields) {
  const named = Object.entries(fields).filter(([, value]) => value !== undefined)
  const paths = named.map(([field]) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
  return {
    fields: Object.fromEntries(named) as { [Key in keyof Fields]?: Exclude<Fields[Key], undefined> },
    updateMask: { paths },
  }
}

/** Declares a command that calls the API in its own way. */
export function command<Takes extends Parameters = Record<never, never>, Has extends Options = Record<never, never>>(
  name: string,
  declared: Declared<Takes, Has> & {
    readonly run: Step<Takes, Has, Promise<void>>
  },
): Declaration {
  const { description, check, run } = declared
  const parameters = Object.entries(declared.takes ?? {})
  return (io) => {
    const made = withRemoteOptions(new Command(name)).description(description)
    for (const [key, parameter] of parameters) made.addArgument(argumentOf(key, parameter))
    for (const option of Object.values(declared.options ?? {})) made.addOption(option)
    return made.action(async (...given: unknown[]) => {
      const texts = Object.fromEntries(parameters.map(([key], index) => [key, String(given[index])])) as Texts<Takes>
      const options = given[parameters.length] as Called<Takes, Has>['options']
      check?.(options, texts)
      const api = await openApi(io, options)
      const values: Record<string, string> = {}
      for (const [key, { resolve = String }] of parameters) values[key] = await resolve(texts[key] ?? '', api)
      await run(values as Texts<Takes>, { io, api, options, texts })
    })
  }
}

function argumentOf(key: string, { placeholder, description, choices, fallback, check }: Parameter): Argument {
  const name = placeholder ?? key.replace(/[A-Z]/g, '-$&').toLowerCase()
  const argument = new Argument(fallback === undefined ? `<${name}>` : `[${name}]`, description)
  if (fallback !== undefined) argument.default(fallback)
  if (choices !== undefined) return argument.choices(choices)
  return argument.argParser((text) => {
    check?.(text)
    return text
  })
}
