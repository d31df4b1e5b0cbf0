/**
 * The identities that `docs/federation.md` recommends for jobs of GitHub Actions and GitLab CI, and JWTs with the claims of theirs that say
 * what a job is (November 2026), with the signatures of keys of the test.
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type JWTPayload, SignJWT } from 'jose'
import { keyturnCommandsOf } from '../support/federation-page.ts'
import { openTerminal, type Terminal } from '../support/terminal.ts'

const GITHUB = 'https://token.actions.githubusercontent.com'
const GITLAB = 'https://gitlab.com'

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const now = Math.floor(Date.now() / 1000)

type Claims = Readonly<Record<string, unknown>>

let terminal: Terminal
let user: string
let keys: string

beforeAll(async () => {
  terminal = await openTerminal()
  keys = join(terminal.server.dataDir, 'keys.json')
  await writeFile(keys, JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'ci', use: 'sig' }] }))
  await terminal.lines('projects', 'create', 'shop')
  user = (await terminal.lines('users', 'create', 'deployer', '--project', 'shop'))[0]!.replace('created ', '')
  for (const issuer of [GITHUB, GITLAB]) await terminal.lines('federation', 'issuers', 'create', issuer, '--keys', keys)
})
afterAll(() => terminal?.close())

/** The federated identities that a section recommends, as arguments of the command that adds them. */
function identitiesOf(section: string): string[][] {
  return keyturnCommandsOf(section).filter(([, , verb]) => verb === 'add')
}

/** Gives the user this identity and no other. */
async function identify(command: readonly string[] | undefined): Promise<void> {
  const { identities = [] } = await terminal.json<{ identities?: { identityId: string }[] }>(
    ...['federation', 'identities', 'list', user],
  )
  for (const { identityId } of identities)
    await terminal.lines('federation', 'identities', 'remove', user, identityId, '--yes')
  const args = command!.map((argument) => (argument === 'deployer@shop' ? user : argument))
  await terminal.lines(...args)
}

function sign(claims: Claims): Promise<string> {
  const payload = { aud: terminal.server.baseUrl, jti: randomUUID(), ...claims } as JWTPayload
  return new SignJWT(payload).setProtectedHeader({ typ: 'JWT', alg: 'RS256', kid: 'ci', x5t: 'ci' }).sign(privateKey)
}

/** Whether a job with these claims gets a token. `client_id` is left out: issuer and subject name the user. */
async function accepts(claims: Claims): Promise<boolean> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await sign(claims),
  })
  const response = await fetch(`${terminal.server.baseUrl}/oauth/v2/token`, { method: 'POST', body })
  const { error } = (await response.json()) as { error?: string }
  if (response.status !== 200)
    expect({ status: response.status, error }).toEqual({ status: 401, error: 'invalid_client' })
  return response.status === 200
}

describe('a job of GitHub Actions', () => {
  const [byIdsInSubject, byIdsInClaims] = identitiesOf('GitHub Actions')
  const names = 'repo:shop/web'
  const ids = 'repo:shop@123456/web@456789'
  const workflow = 'shop/web/.github/workflows/deploy.yml@refs/heads/main'
  const reusable = 'shop/workflows/.github/workflows/deploy.yml@refs/heads/main'

  /** A push to `main`, with the environment `production`. */
  const job = (more: Claims = {}): Claims => ({
    sub: `${names}:environment:production`,
    environment: 'production',
    ref: 'refs/heads/main',
    repository: 'shop/web',
    repository_owner: 'shop',
    repository_id: '456789',
    repository_owner_id: '123456',
    workflow_ref: workflow,
    head_ref: '',
    event_name: 'push',
    ref_protected: 'true',
    ref_type: 'branch',
    job_workflow_ref: workflow,
    iss: GITHUB,
    nbf: now - 600,
    iat: now,
    exp: now + 300,
    ...more,
  })

  /** The same job of a repository whose subject has its ids. */
  const withIds = (more: Claims = {}): Claims => {
    const claims = job(more)
    return { ...claims, sub: String(claims.sub).replace(names, ids) }
  }

  /** What differs from the job that is accepted. */
  const OTHERS: [string, Claims][] = [
    ['another environment', { sub: `${names}:environment:staging`, environment: 'staging' }],
    ['an environment in another case', { sub: `${names}:environment:Production`, environment: 'Production' }],
    ['no environment', { sub: `${names}:ref:refs/heads/main`, environment: undefined }],
    ['another branch', { ref: 'refs/heads/feature' }],
    ['a tag with the name of the branch', { ref: 'refs/tags/main', ref_type: 'tag' }],
    [
      'a pull request that names the environment',
      { event_name: 'pull_request', ref: 'refs/pull/7/merge', head_ref: 'feature', base_ref: 'main' },
    ],
    [
      'pull_request_target, which runs on the branch of the base',
      { event_name: 'pull_request_target', head_ref: 'feature', base_ref: 'main' },
    ],
    ['another repository', { sub: 'repo:shop/api:environment:production', repository: 'shop/api', repository_id: '7' }],
    [
      'a fork',
      {
        sub: 'repo:mallory/web:environment:production',
        repository: 'mallory/web',
        repository_owner: 'mallory',
        repository_id: '666',
        repository_owner_id: '66',
      },
    ],
    ['the audience that GitHub chooses', { aud: 'https://github.com/shop' }],
    ['the same subject from GitLab', { iss: GITLAB }],
    ['a reusable workflow in the subject', { sub: `${names}:environment:production:job_workflow_ref:${reusable}` }],
  ]

  describe('with names in its subject, held to ids as claims', () => {
    beforeAll(() => identify(byIdsInClaims))

    it('gets a token', async () => {
      expect(await accepts(job())).toBe(true)
    })

    it.each(OTHERS)('gets none: %s', async (_, claims) => {
      expect(await accepts(job(claims))).toBe(false)
    })
  })

  describe('with ids in its subject', () => {
    beforeAll(() => identify(byIdsInSubject))

    it('gets a token', async () => {
      expect(await accepts(withIds())).toBe(true)
    })
  })
})

describe('a job of GitLab CI', () => {
  const [recommended] = identitiesOf('GitLab CI')

  /** A push to the protected branch `main`, with the environment `production`. */
  const job: Claims = {
    namespace_id: '72',
    project_id: '20',
    project_path: 'shop/web',
    pipeline_source: 'push',
    ref: 'main',
    ref_type: 'branch',
    ref_path: 'refs/heads/main',
    ref_protected: 'true',
    groups_direct: ['shop/backend'],
    environment: 'production',
    environment_protected: 'true',
    iss: GITLAB,
    iat: now,
    nbf: now - 5,
    exp: now + 3600,
    sub: 'project_path:shop/web:ref_type:branch:ref:main',
  }

  beforeAll(() => identify(recommended))

  it('gets a token', async () => {
    expect(await accepts(job)).toBe(true)
  })
})
