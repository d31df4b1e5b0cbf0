/**
 * `keyturn login` and `keyturn context`: checks credentials at a server, stores them as a context, and manages the contexts.
 */
import { resolve } from 'node:path'
import { Code, ConnectError } from '@connectrpc/connect'
import { Argument, Command } from 'commander'
import { WebKeyService } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import type { Caller, TlsFiles } from '../secret-files/contexts.ts'
import { readCredentials } from '../secret-files/credentials-file.ts'
import { type Api, openApiOf } from './api.ts'
import { ask, confirm } from './confirm.ts'
import { contextsOf } from './connection/target.ts'
import { readTlsFiles, tlsFilesFrom } from './connection/tls-files.ts'
import { requestToken, tokenEndpointOf } from './connection/token-request.ts'
import type { Io } from './io.ts'
import { flag, option, parseUrl, UsageError, withTlsOptions, type YesOption, yesOption } from './options.ts'
import { type OutputOptions, printResult, withOutputOptions } from './output.ts'

interface LoginOptions extends TlsFiles {
  readonly name?: string
  readonly clientId?: string
  readonly credentials?: string
  readonly withToken?: true
}

export function loginCommand(io: Io): Command {
  return withTlsOptions(new Command('login'))
    .addArgument(new Argument('[url]', 'base URL of the server').argParser(parseUrl))
    .option('--name <context>', 'name of the context (default: the host of the server)')
    .option('--client-id <id>', 'client ID of the user')
    .addOption(
      flag('--with-token', 'ask for a personal access token, instead of client credentials').conflicts('clientId'),
    )
    .addOption(
      option('--credentials <file>', 'take server, client ID and secret from a credentials file').conflicts([
        'clientId',
        'withToken',
      ]),
    )
    .action(async (url: string | undefined, options: LoginOptions) => {
      const { credentials } = options
      if ((url === undefined) === (credentials === undefined))
        throw new UsageError('name the base URL of the server, or a credentials file with --credentials')
      const contexts = contextsOf(io)
      const files = tlsFilesFrom(io, options)
      const tls = await readTlsFiles(files)
      const login =
        url === undefined
          ? await readCredentials(resolve(credentials ?? ''), { mustBeOwn: true })
          : { base_url: url, ...(await asked(io, options)) }
      const { base_url } = login
      const name = options.name ?? nameOf(base_url)
      const before = (await contexts.all()).contexts.get(name)?.base_url ?? base_url
      if (before !== base_url)
        throw new Error(
          `the context ${name} is one of ${before}: choose another name with --name, or remove it with "keyturn context remove ${name}"`,
        )
      const token_endpoint = await tokenEndpointOf({ ...login, tls })
      const target = { ...login, token_endpoint, tls }
      if ('client_id' in target) await requestToken(target, 'openid')
      else await assertTokenWorks(await openApiOf(target))
      const absolute = Object.entries(files).map(([file, path]) => [file, path && resolve(path)])
      await contexts.use(name, { ...login, token_endpoint, ...Object.fromEntries(absolute) })
      const who = 'client_id' in target ? target.client_id : 'a personal access token'
      io.stdout.write(`logged in to ${base_url} with ${who}; the context ${name} is in use\n`)
    })
}

async function asked(io: Io, { withToken, clientId }: LoginOptions): Promise<Caller> {
  if (withToken === true) return { personal_access_token: await required(io, 'Personal access token', true) }
  if (clientId === undefined && !io.isTerminal)
    throw new Error('there is no terminal to ask for the client ID: give it with --client-id')
  return {
    client_id: clientId ?? (await required(io, 'Client ID', false)),
    client_secret: await required(io, 'Client secret', true),
  }
}

async function required(io: Io, what: string, isSecret: boolean): Promise<string> {
  const text = (await ask(io, `${what}: `, isSecret))?.trim() ?? ''
  if (text !== '') return text
  throw new Error(
    `the ${what.charAt(0).toLowerCase()}${what.slice(1)} is missing: type it at a terminal, or give it on standard input`,
  )
}

/** A user may have no right to any call, so a refused call is proof enough. */
async function assertTokenWorks(api: Api): Promise<void> {
  await api.call(WebKeyService.method.listWebKeys, {}).catch((error: unknown) => {
    if (!(error instanceof ConnectError) || error.code !== Code.PermissionDenied) throw error
  })
}

/** The host, and the port if it is not that of the scheme. */
function nameOf(baseUrl: string): string {
  return new URL(baseUrl).host.replace(/[[\]]/g, '').replaceAll(':', '-').replace(/^-+/, '')
}

export function contextCommand(io: Io): Command {
  const group = new Command('context')
  withOutputOptions(group.command('list'))
    .description('List all contexts, without their secrets. An asterisk marks the one in use.')
    .action(async (options: OutputOptions) => {
      const { current, contexts } = await contextsOf(io).all()
      const listed = [...contexts].map(([name, context]) => {
        const user = 'client_id' in context ? { clientId: context.client_id } : { personalAccessToken: true }
        return { name, inUse: name === current, baseUrl: context.base_url, ...user }
      })
      await printResult(io, options, { contexts: listed }, () => ({
        heading: ['', 'NAME', 'SERVER', 'USER'],
        rows: listed.map(({ name, inUse, baseUrl, ...user }) => {
          return [inUse ? '*' : '', name, baseUrl, 'clientId' in user ? user.clientId : 'personal access token']
        }),
      }))
    })
  group
    .command('use')
    .description('Choose the context that commands use unless they are given another one.')
    .argument('<context>', 'name of the context')
    .action(async (name: string) => {
      const contexts = contextsOf(io)
      const context = await contexts.read(name)
      await contexts.use(name, context)
      io.stdout.write(`${name} is in use: commands call ${context.base_url}\n`)
    })
  group
    .command('remove')
    .description('Remove a context with its secret. The secret itself goes on working.')
    .argument('<context>', 'name of the context')
    .addOption(yesOption())
    .action(async (name: string, options: YesOption) => {
      await confirm(io, options, `Remove the context ${name} with its secret?`)
      await contextsOf(io).remove(name)
      io.stdout.write(`removed ${name}; its secret works until it is deleted at the server\n`)
    })
  return group
}
