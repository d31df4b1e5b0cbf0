/**
 * `keyturn health`: asks the server that the settings describe whether it is ready.
 */
import { Command } from 'commander'
import type { Config } from '../../config/config.ts'
import type { TlsFiles } from '../../secret-files/contexts.ts'
import { connectionCode } from '../connection/connection-failure.ts'
import { type HttpAnswer, requestJson } from '../connection/http-request.ts'
import { readTlsFiles, type TlsOptions, tlsFilesFrom } from '../connection/tls-files.ts'
import type { Io } from '../io.ts'
import { wholeNumber, withClientCertificate } from '../options.ts'
import { configFrom, withSettingFlags } from './setting-flags.ts'

/** Addresses that stand for all of a machine, and one of those. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

interface HealthOptions extends Pick<TlsFiles, 'clientCert' | 'clientKey'> {
  readonly timeout: number
}

export function healthCommand(io: Io): Command {
  const health = withSettingFlags(new Command('health')).option(
    '--timeout <seconds>',
    'how long the server may take to answer',
    wholeNumber(1, 300),
    3,
  )
  return withClientCertificate(health).action(async (options: HealthOptions & Readonly<Record<string, unknown>>) => {
    const url = readyzOf(configFrom(io, options))
    const { clientCert, clientKey } = tlsFilesFrom(io, options)
    const { status, json } = await ask(url, await readTlsFiles({ clientCert, clientKey }), options)
    const { reason, warnings = [] } = json as { readonly reason?: string; readonly warnings?: readonly string[] }
    if (status !== 200) throw new Error(`${url} answers with status ${status}${reason ? `: ${reason}` : ''}`)
    for (const warning of warnings) io.stderr.write(`warning: ${warning}\n`)
    io.stdout.write('ready\n')
  })
}

/** @throws {Error} if the server has a free port, which only its process knows. */
function readyzOf({ listen: { host, port }, tls }: Config): URL {
  if (port === 0)
    throw new Error('KEYTURN_LISTEN has port 0, which may be any: set the port that the server listens on')
  const address = LOOPBACK[host] ?? host
  const authority = `${address.includes(':') ? `[${address}]` : address}:${port}`
  return new URL(`${tls === null ? 'http' : 'https'}://${authority}/readyz`)
}

async function ask(url: URL, tls: TlsOptions, { timeout }: HealthOptions): Promise<HttpAnswer> {
  const signal = AbortSignal.timeout(timeout * 1000)
  // The certificate is for the name that clients use, and here the address of the listener is asked. Nothing secret is sent.
  return await requestJson(url, { signal, tls: { ...tls, rejectUnauthorized: false } }).catch((cause: unknown) => {
    const reason = cause instanceof DOMException ? ` within ${timeout} seconds` : ` (${connectionCode(cause)})`
    throw new Error(`no answer from ${url}${reason}: is the server running with these settings?`, { cause })
  })
}
