import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { secretTarget } from '../../../src/cli/secret-targets.ts'
import { removeFolder, temporaryFolder } from '../../support/keyturn.ts'
import { writeProgram } from '../../support/write-program.ts'

let folder: string
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(() => removeFolder(folder))

const SECRET = `ktn_cs_${'s'.repeat(43)}`
const CREDENTIALS = { base_url: '', token_endpoint: '', client_id: 'checkout@shop', client_secret: SECRET }

/** Hands a secret over to a program. @returns Why that failed. */
async function handOver(script: string): Promise<string | undefined> {
  const target = secretTarget({ env: process.env }, `command:${writeProgram(folder, 'store', script)}`)
  return await target.handOver(CREDENTIALS).then(() => undefined, String)
}

describe('a program that gets a secret', () => {
  it('may print as much as it likes', async () => {
    const much = 'head -c 3000000 /dev/zero | tr "\\0" x'
    expect(await handOver(`cat > /dev/null; ${much}; ${much} >&2`)).toBeUndefined()
  })

  it('is not waited for once it has ended, also if a child of it goes on with its output', async () => {
    const child = `(while [ -d '${folder}' ]; do sleep 1; done) &`
    expect(await handOver(`cat > /dev/null; echo full >&2; ${child} exit 3`)).toMatch(
      /store ended with exit code 3: full$/,
    )
    expect(await handOver(`cat > /dev/null; ${child} exit 0`)).toBeUndefined()
  })

  it('shows the secret nowhere, however much it prints of it', async () => {
    const failure = await handOver('read -r line; yes "$line" | head -c 1000000 >&2; exit 1')
    expect(failure).toMatch(/ended with exit code 1: .*"client_secret":"\*\*\*"/)
    expect(failure).not.toContain('sss')
    expect(failure?.length).toBeLessThan(5000)
  })
})
