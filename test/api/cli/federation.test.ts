import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SignJWT } from 'jose'
import { MOMENT, openTerminal, refuses, says, type Terminal, UUID } from '../../support/terminal.ts'

const ISSUER = 'https://token.actions.githubusercontent.com'
const SUBJECT = 'repo:shop/web:environment:production'

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

let terminal: Terminal
let clientId: string
let keys: string
beforeAll(async () => {
  terminal = await openTerminal()
  await terminal.lines('projects', 'create', 'shop')
  const [line = ''] = await terminal.lines('users', 'create', 'deployer', '--project', 'shop')
  clientId = line.replace('created ', '')
  keys = await file('keys.json', JSON.stringify({ keys: [publicKey.export({ format: 'jwk' })] }))
})
afterAll(() => terminal?.close())

async function file(name: string, content: string): Promise<string> {
  const path = join(terminal.server.dataDir, name)
  await writeFile(path, content)
  return path
}

async function jwt(claims: Record<string, unknown> = {}, key: KeyObject = privateKey): Promise<string> {
  const payload = { iss: ISSUER, sub: SUBJECT, aud: terminal.server.baseUrl, repository: 'shop/web', ...claims }
  const signed = new SignJWT(payload).setProtectedHeader({ alg: 'ES256' }).setIssuedAt().setExpirationTime('5m')
  return file('jwt', await signed.sign(key))
}

const keyturn = (...args: string[]) => terminal.run('federation', ...args)

describe('keyturn federation', () => {
  it('trusts an issuer and gives a user an identity, whose JWTs it then says to be accepted, and why not', async () => {
    const [created = ''] = await terminal.lines('federation', 'issuers', 'create', ISSUER, '--keys', keys)
    expect(created).toMatch(new RegExp(`^trusted ${ISSUER} \\(${UUID}\\)$`))
    expect(await keyturn('check', clientId, await jwt())).toEqual(
      refuses('the JWT is refused: its signature is good, and the user has no federated identities'),
    )
    const identity = ['--issuer', ISSUER, '--subject', SUBJECT, '--claim', '/repository=shop/web']
    const [added = ''] = await terminal.lines('federation', 'identities', 'add', clientId, ...identity)
    const identityId = added.replace('added ', '')

    expect(await keyturn('check', clientId, await jwt())).toEqual(
      says(`accepted, by the federated identity ${identityId}`),
    )
    const misfit = (is: string, asked: string) =>
      refuses(
        `the JWT is refused: its signature is good, and no federated identity of the user fits: ${is}, and ${identityId} asks for ${asked}`,
      )
    expect(await keyturn('check', clientId, await jwt({ sub: 'repo:shop/web' }))).toEqual(
      misfit('sub is "repo:shop/web"', `"${SUBJECT}"`),
    )
    expect(await keyturn('check', clientId, await jwt({ aud: 'sts.example' }))).toEqual(
      misfit('aud is "sts.example"', `"${terminal.server.baseUrl}"`),
    )
    expect(await keyturn('check', clientId, await jwt({ repository: 'shop/api' }))).toEqual(
      misfit('/repository is "shop/api"', '"shop/web"'),
    )
    expect(await keyturn('check', clientId, await jwt({ repository: undefined }))).toEqual(
      misfit('/repository is missing', '"shop/web"'),
    )
    expect(await keyturn('check', clientId, await jwt({ iss: `${ISSUER}/` }))).toEqual(
      refuses('the JWT is refused: iss is not a trusted issuer'),
    )
    const lines = await file('lines', `${await readFile(await jwt(), 'utf8')}\n`)
    expect(await keyturn('check', clientId, lines)).toEqual({
      ...says(`accepted, by the federated identity ${identityId}`),
      stderr: 'warning: the file has white space around the JWT, which the token endpoint refuses: send it without\n',
    })
    expect(await keyturn('check', clientId, '/nowhere/jwt')).toEqual(refuses('cannot read /nowhere/jwt'))
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    expect(await keyturn('check', clientId, await jwt({}, other.privateKey))).toEqual(
      refuses('the JWT is refused: the signature is not by a key of the issuer'),
    )
    expect(await keyturn('check', clientId, await jwt(), '--type', 'jwt-spiffe')).toEqual(
      refuses('the JWT is refused: the trust domain of sub is not trusted'),
    )

    const [, row = ''] = await terminal.lines('federation', 'identities', 'list', clientId)
    expect(row).toMatch(new RegExp(`^${identityId}  ${UUID}  ${SUBJECT}  /repository:shop/web$`))
    expect(await keyturn('identities', 'remove', clientId, identityId)).toEqual(says(`removed ${identityId}`))
  })

  it('lists, shows, changes and deletes issuers by name', async () => {
    const issuer = 'https://gitlab.example'
    await terminal.lines('federation', 'issuers', 'create', issuer, '--keys', keys, '--algorithms', 'ES256', 'RS256')
    expect(await keyturn('issuers', 'update', issuer)).toEqual(
      refuses('say what to change: a source of its keys, --issuer-ca, --max-staleness, --algorithms or --max-lifetime'),
    )
    expect(await keyturn('issuers', 'update', issuer, '--max-lifetime', '300')).toEqual(says(`updated ${issuer}`))
    const { trustedIssuer } = await terminal.json<{ trustedIssuer: object }>('federation', 'issuers', 'show', issuer)
    expect(trustedIssuer).toMatchObject({ issuer, algorithms: ['ES256', 'RS256'], maxLifetimeSeconds: 300 })
    const lines = await terminal.lines('federation', 'issuers', 'list')
    expect(lines[0]).toMatch(/^ISSUER ID {29}ISSUER +MAX LIFETIME SECONDS +CREATION DATE$/)
    expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^${UUID}  ${issuer} +300 +${MOMENT}$`)))
    expect(await keyturn('issuers', 'delete', issuer)).toEqual(says(`deleted ${issuer}`))
    expect(await keyturn('issuers', 'delete', issuer)).toEqual(
      refuses(`there is no trusted issuer "${issuer}": "keyturn federation issuers list" prints those that exist`),
    )
  })

  it('sends no private key', async () => {
    const secret = await file('private.json', JSON.stringify({ keys: [privateKey.export({ format: 'jwk' })] }))
    expect(await keyturn('issuers', 'create', 'https://x.example', '--keys', secret)).toEqual(
      refuses(`${secret} has a private key: nothing was sent; make a file with the public keys only`),
    )
    const pem = await file('ca.pem', privateKey.export({ format: 'pem', type: 'pkcs8' }) as string)
    expect(await keyturn('issuers', 'create', 'https://x.example', '--discovery', '--issuer-ca', pem)).toEqual(
      refuses(`${pem} has a private key: nothing was sent; make a file with the certificates only`),
    )
  })
})
