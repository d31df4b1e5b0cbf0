/**
 * `docs/clients/openapi.md`; the description of the API by the rules of a linter; and every method with the generated client.
 */
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { everyRequest } from '../api/every-request.ts'
import { type Administration, administrationOf, METHODS } from '../support/administration.ts'
import { type RunningPage, testLanguagePage } from './language-page.ts'

const ROOT = join(import.meta.dirname, '../..')

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>
}

interface Outcome {
  readonly status: number
  readonly answer: unknown
}

testLanguagePage(
  {
    name: 'openapi',
    needs: { npm: 'npm --version' },
    instead: {
      'npm install @hey-api/openapi-ts@0.99.0 typescript@5.9.3':
        'cp "$PAGE"/package*.json . && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error',
    },
  },
  (running) => {
    let page: RunningPage
    let admin: Administration
    let description: Description
    beforeAll(async () => {
      page = running()
      admin = await administrationOf(page.server)
      description = (await (await fetch(`${page.server.baseUrl}/openapi.json`)).json()) as Description
      await writeFile(join(page.folder, 'openapi.json'), JSON.stringify(description))
      await cp(join(import.meta.dirname, 'openapi/every-method.mjs'), join(page.folder, 'every-method.mjs'))
    })

    it('compiles, and a member too many or too few does not', async () => {
      await writeFile(join(page.folder, 'mistakes.ts'), MISTAKES)
      const options = `--types node --typeRoots "${ROOT}/node_modules/@types"`
      await page.shell(
        `npx tsc --noEmit --strict --module nodenext --target es2024 --allowImportingTsExtensions --skipLibCheck ${options} list-keys.ts mistakes.ts`,
      )
    })

    it('is made of a description that keeps the recommended rules of Redocly', async () => {
      // Exits with 1 for an error; warnings count here too.
      const lint =
        'REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true npx redocly lint openapi.json --format=json'
      const { problems } = JSON.parse(await page.shell(lint)) as {
        problems: { ruleId: string; location: { pointer: string }[] }[]
      }
      const found = problems.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`)
      const isExcused = (problem: string) => EXCUSED.some((excuse) => excuse.test(problem))
      expect(found.filter((problem) => !isExcused(problem))).toEqual([])
      expect(EXCUSED.filter((excuse) => !found.some((problem) => excuse.test(problem)))).toEqual([])
    })

    describe('the generated client', () => {
      const call = async (requests: Readonly<Record<string, unknown>>): Promise<Record<string, Outcome>> => {
        const printed = await page.shell('node every-method.mjs', JSON.stringify({ token: admin.token, requests }))
        return JSON.parse(printed) as Record<string, Outcome>
      }
      const functionOf = (path: string) => {
        const { operationId = '' } = Object.values(description.paths[path] ?? {})[0] ?? {}
        return operationId.charAt(0).toLowerCase() + operationId.slice(1).replace('_', '')
      }

      it('calls every method of every service', async () => {
        await admin.keys.updateRotationPolicy({ policy: { enabled: false }, updateMask: { paths: ['enabled'] } })
        const requests = await everyRequest(admin)
        const outcomes = await call(
          Object.fromEntries(METHODS.map(({ path }) => [functionOf(`/${path}`), requests[path]])),
        )
        expect(Object.keys(outcomes)).toHaveLength(METHODS.length)
        const failed = Object.entries(outcomes).filter(([, { status }]) => status !== 200)
        expect(failed).toEqual([])
      })

      it('gets a token and the key set', async () => {
        const { client_id, client_secret } = await page.server.admin()
        const outcomes = await call({
          [functionOf('/oauth/v2/token')]: { grant_type: 'client_credentials', client_id, client_secret },
          [functionOf('/.well-known/openid-configuration/jwks')]: null,
        })
        expect(Object.values(outcomes)).toMatchObject([
          { status: 200, answer: { token_type: 'Bearer' } },
          { status: 200, answer: { keys: expect.arrayContaining([expect.objectContaining({ alg: 'RS256' })]) } },
        ])
      })

      it('returns the error of a call that is refused', async () => {
        const name = functionOf('/iam.webkey.v2.WebKeyService/GetWebKey')
        expect((await call({ [name]: { keyId: 'unknown' } }))[name]).toMatchObject({
          status: 404,
          answer: {
            code: 'not_found',
            details: [{ type: 'google.rpc.ErrorInfo', debug: { reason: 'WEB_KEY_NOT_FOUND' } }],
          },
        })
      })
    })
  },
)

/** Compiles only if each marked line is an error. */
const MISTAKES = `
import { webKeyServiceGetWebKey } from './client/index.ts'
// @ts-expect-error
webKeyServiceGetWebKey({ body: {} })
// @ts-expect-error
webKeyServiceGetWebKey({ body: { keyId: 'x', other: 1 } })
webKeyServiceGetWebKey({ body: { keyId: 'x' } })
`

/** Problems that are none, with the reason. */
const EXCUSED = [
  // The server of the test is on this machine.
  /^no-server-example\.com #\/servers\/0\/url$/,
  // Documents are refused with 503 only, when the server does not know enough.
  /^operation-4xx-response #\/paths\/[^/]+\/get\/responses$/,
]
