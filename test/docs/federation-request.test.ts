/**
 * The token request of `docs/federation.md`, with curl, and the files with JWTs that the other commands of the page write.
 */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { commandsOf } from '../support/federation-page.ts'
import { jwtBy, newIssuerKey } from '../support/https-issuer.ts'
import { openTerminal, type Terminal } from '../support/terminal.ts'

const ISSUER = 'https://cluster.example'
const key = newIssuerKey('first')

let terminal: Terminal
let clientId: string
let jwt: string
beforeAll(async () => {
  terminal = await openTerminal()
  const { baseUrl, dataDir } = terminal.server
  await writeFile(join(dataDir, 'keys.json'), JSON.stringify({ keys: [key.jwk] }))
  await terminal.lines('projects', 'create', 'shop')
  clientId = (await terminal.lines('users', 'create', 'checkout', '--project', 'shop'))[0]!.replace('created ', '')
  await terminal.lines('federation', 'issuers', 'create', ISSUER, '--keys', join(dataDir, 'keys.json'))
  await terminal.lines('federation', 'identities', 'add', clientId, '--issuer', ISSUER, '--subject', 'checkout')
  jwt = await jwtBy(key, { iss: ISSUER, sub: 'checkout', aud: baseUrl })
})
afterAll(() => terminal?.close())

/** Runs the command of the page beside a file with this text. Without `-f`, so that it prints refusals. */
async function request(token: string): Promise<Record<string, string>> {
  const { baseUrl, dataDir } = terminal.server
  await writeFile(join(dataDir, 'token'), token)
  const [command = ''] = commandsOf('The token request')
  const here = command.replace('https://tokens.example.com', baseUrl).replace('-sSf', '-sS')
  const { stdout } = await promisify(execFile)('bash', ['-c', here], { cwd: dataDir })
  return JSON.parse(stdout)
}

describe('the token request of the page', () => {
  it('gets a token with a file that has the JWT and no newline, and none with one', async () => {
    const { access_token = '' } = await request(jwt)
    expect(decodeJwt(access_token)).toMatchObject({ client_id: clientId })
    expect(await request(`${jwt}\n`)).toMatchObject({ error: 'invalid_client' })
  })
})
